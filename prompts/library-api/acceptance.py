"""What a client of the lending library's API has to do.

Usage: acceptance.py MODULE
"""

import importlib.util
import json
import sys
import unittest

MODULE = sys.argv.pop(1)
TOKEN = "t0ken-of-the-acceptance-test"


def load():
    spec = importlib.util.spec_from_file_location("library", MODULE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Server:
    """Answers in the order in which answers were handed in, and keeps what was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.slept = []

    def send(self, method, url, headers, body):
        self.asked.append((method, url, headers, body))
        status, answer, *more = self.answers.pop(0)
        return status, (more[0] if more else {}), json.dumps(answer).encode()


class Acceptance(unittest.TestCase):
    def setUp(self):
        self.library = load()

    def client(self, *answers):
        server = Server(*answers)
        client = self.library.Library("https://library.example/v1", TOKEN, send=server.send, sleep=server.slept.append)
        return client, server

    def test_a_book_is_asked_for_by_its_id_with_the_token(self):
        client, server = self.client((200, {"id": "a/b c", "title": "T", "authors": []}))
        self.assertEqual(client.book("a/b c")["title"], "T")
        method, url, headers, _ = server.asked[0]
        self.assertEqual((method, url), ("GET", "https://library.example/v1/books/a%2Fb%20c"))
        self.assertEqual({name.lower(): value for name, value in headers.items()}["authorization"], f"Bearer {TOKEN}")

    def test_a_book_that_is_not_there_is_none(self):
        client, _ = self.client((404, {"error": "no such book"}))
        self.assertIsNone(client.book("x"))

    def test_a_search_goes_through_all_pages(self):
        page = lambda ids, following: (200, {"items": [{"id": name} for name in ids], "next": following})
        client, server = self.client(page(["1", "2"], "c&1"), page([], "c2"), page(["3"], None))
        self.assertEqual([book["id"] for book in client.search("sea & sky")], ["1", "2", "3"])
        self.assertNotIn("cursor", server.asked[0][1])
        self.assertIn("cursor=c%261", server.asked[1][1])
        for _, url, _, _ in server.asked:
            self.assertRegex(url, r"[?&]q=sea(\+|%20)%26(\+|%20)sky")

    def test_a_loan_is_posted_as_json(self):
        loan = {"id": "l", "book": "b", "member": "m", "due": "2027-01-15"}
        client, server = self.client((201, loan))
        self.assertEqual(client.lend("b", "m"), loan)
        method, url, _, body = server.asked[0]
        self.assertEqual((method, url, json.loads(body)), ("POST", "https://library.example/v1/loans", {"book": "b", "member": "m"}))

    def test_a_book_that_is_lent_is_an_error_of_its_own(self):
        client, _ = self.client((409, {"error": "lent until Friday"}))
        with self.assertRaises(self.library.NotAvailable):
            client.lend("b", "m")

    def test_a_busy_library_is_asked_again_three_times_at_most(self):
        busy = (429, {"error": "busy"}, {"Retry-After": "7"})
        client, server = self.client(busy, busy, (200, {"id": "x"}))
        self.assertEqual(client.book("x"), {"id": "x"})
        self.assertEqual([float(seconds) for seconds in server.slept], [7.0, 7.0])
        client, server = self.client(busy, busy, busy, busy, busy)
        with self.assertRaises(Exception):
            client.book("x")
        self.assertEqual(len(server.asked), 4)

    def test_an_error_says_what_the_library_said_and_no_token(self):
        client, _ = self.client((500, {"error": "the shelf fell over"}))
        with self.assertRaises(Exception) as caught:
            client.book("x")
        self.assertIn("the shelf fell over", str(caught.exception))
        self.assertNotIn(TOKEN, str(caught.exception))


if __name__ == "__main__":
    unittest.main()

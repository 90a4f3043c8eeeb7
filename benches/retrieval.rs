//! Prints how long it takes to find passages in 2,000 files of 10 kB: never seen before, unchanged, and with one that changed.
//!
//! `cargo bench --bench retrieval`

#![expect(clippy::unwrap_used, reason = "what goes wrong ends the measurement")]
#![expect(clippy::print_stdout, reason = "the numbers are what it is for")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tepa::secret::Secrets;
use tepa::stage::{Query, Retriever as _};
use tepa::store::{Index, IndexSettings, SqliteStore};
use tepa::turn::TrustTier;
use tepa::workspace::Workspace;

const FILES: usize = 2_000;
const BYTES: usize = 10_000;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs");
    fs::create_dir(&docs).unwrap();
    for file in 0..FILES {
        fs::write(docs.join(format!("{file}.md")), text(file)).unwrap();
    }
    let store = SqliteStore::open(&folder.path().join(".tepa/tepa.db"), Secrets::default()).unwrap();
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let files = vec!["docs/**/*.md".to_owned()];
    let settings = IndexSettings { files, trust: TrustTier::FirstParty, kind: None };
    let index = Index::new(store, workspace, settings).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let measure = |what: &str| {
        let began = Instant::now();
        let query =
            Query { text: "Write the report on w17 and w4711, with w99 in it", top_k: 6, min_score: 0.2 };
        let found = runtime.block_on(index.retrieve(query)).unwrap().len();
        println!("{what:>12}: {:>7.1} ms, {found} passages", began.elapsed().as_secs_f64() * 1000.0);
    };
    measure("cold");
    measure("unchanged");
    fs::write(docs.join("17.md"), text(FILES)).unwrap();
    measure("one changed");
    println!("{:>12}: {} kB", "database", kilobytes(&folder.path().join(".tepa")));
}

/// Returns a text of words of which, as in a language, few are frequent and many are rare.
fn text(seed: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut text = String::with_capacity(BYTES);
    let mut words = 0;
    while text.len() < BYTES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let rank = 20_000 / (1 + (state >> 33) % 20_000);
        let word = (rank * 31 + (state >> 50) % rank.max(1)) % 20_000;
        words += 1;
        let end = match words % 80 {
            0 => "\n\n",
            n if n % 12 == 0 => "\n",
            _ => " ",
        };
        text += &format!("w{word}{end}");
    }
    text
}

fn kilobytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>() / 1000
}

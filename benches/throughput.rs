//! Measures the work that grows with what goes through: a stream of an answer, the record of a run, files that people wrote.
//!
//! `cargo bench --bench throughput`; what is written to the disk is measured beside a plain write of the same bytes.

#![expect(clippy::unwrap_used, reason = "what goes wrong ends the measurement")]

use std::fs::File;
use std::io::Write as _;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use jiff::Timestamp;
use serde_json::json;
use tepa::event::{Envelope, EventSink as _, RunEvent, SCHEMA, Wire};
use tepa::journal::Journal;
use tepa::prompt::{self, Values};
use tepa::providers::sse::Decoder;
use tepa::source::{Document, Format, SourceFile, UnknownKeys};

const EVENTS: usize = 1_000;

const TASKS: usize = 100;

fn main() {
    divan::main();
}

/// Cut as a network might, in bytes.
#[divan::bench(args = [64, 1_460, 65_536])]
fn stream(bencher: Bencher<'_, '_>, piece: usize) {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": " and the next word"}}]});
    let text = format!("event: delta\ndata: {delta}\n\n").repeat(10_000);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut decoder = Decoder::default();
        let mut events = 0;
        for piece in text.as_bytes().chunks(piece) {
            decoder.push(piece).unwrap();
            events += std::iter::from_fn(|| decoder.take()).count();
        }
        assert_eq!(events, 10_000);
    });
}

#[divan::bench]
fn journal(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let events = events();
    let mut run = 0;
    bencher
        .counter(bytes_of(&events))
        .with_inputs(|| {
            run += 1;
            Journal::create(folder.path(), &run.to_string()).unwrap()
        })
        .bench_local_values(|mut journal| {
            for event in &events {
                journal.emit(event).unwrap();
            }
            journal
        });
}

/// What the journal can at best come to: a line at a time, since the next event may be the last one.
#[divan::bench]
fn plain_write(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let events = events();
    let lines: Vec<String> = events.iter().map(|event| format!("{}\n", event.line)).collect();
    let mut run = 0;
    bencher
        .counter(bytes_of(&events))
        .with_inputs(|| {
            run += 1;
            File::create_new(folder.path().join(run.to_string())).unwrap()
        })
        .bench_local_values(|mut file| {
            for line in &lines {
                file.write_all(line.as_bytes()).unwrap();
            }
            file
        });
}

/// From text to a task that cannot be invalid.
#[divan::bench(sample_count = 20)]
fn tasks(bencher: Bencher<'_, '_>) {
    let text = include_str!("../prompts/task.yaml");
    bencher.counter(ItemsCount::new(TASKS)).counter(BytesCount::new(TASKS * text.len())).bench(|| {
        for _ in 0..TASKS {
            let file = SourceFile::from_text("task.yaml", text, Format::Yaml);
            let mut document = Document::parse(file).unwrap();
            prompt::load(&mut document, &Values::default(), UnknownKeys::Refuse).unwrap();
        }
    });
}

fn events() -> Vec<Envelope<'static>> {
    let event = |at: usize| {
        let event = RunEvent::ToolCompleted {
            cycle: 1,
            step: format!("step{at}"),
            tool: "file_read".to_owned(),
            output: json!({"content": "A line of a file that somebody wrote.\n".repeat(10)}).into(),
            error: None,
            wrote: Vec::new(),
            duration_ms: 1,
        };
        let (seq, ts, run_id) = (at as u64, Timestamp::UNIX_EPOCH, "0198".to_owned());
        let wire = Wire {
            schema: SCHEMA.to_owned(),
            seq,
            ts,
            run_id: run_id.clone(),
            redacted: false,
            event: &event,
        };
        let line = serde_json::to_string(&wire).unwrap();
        Envelope { seq, ts, run_id, event: std::borrow::Cow::Owned(event), redacted: false, line }
    };
    (1..=EVENTS).map(event).collect()
}

fn bytes_of(events: &[Envelope]) -> BytesCount {
    BytesCount::new(events.iter().map(|event| event.line.len() + 1).sum::<usize>())
}

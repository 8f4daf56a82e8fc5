//! native runs the filter on standard input for half a second and writes the median
//! of rounds of 100 calls, nanoseconds a call, and a hash of the output.

use std::io::Read;
use std::time::{Duration, Instant};

fn main() {
    let mut body = Vec::new();
    std::io::stdin().read_to_end(&mut body).expect("an input");
    let out = prune::prune(&body).expect("JSON");
    let hash = out.iter().fold(14695981039346656037u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(1099511628211));
    let mut rounds = Vec::new();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        let begin = Instant::now();
        for _ in 0..100 {
            std::hint::black_box(prune::prune(std::hint::black_box(&body)).expect("JSON"));
        }
        rounds.push(begin.elapsed().as_nanos() / 100);
    }
    rounds.sort_unstable();
    println!("{} {hash:016x}", rounds[rounds.len() / 2]);
}

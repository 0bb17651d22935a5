//! Clients that take connections and do nothing with them.

use anneal_harness::PATIENCE;
use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::io::AsyncReadExt;

use crate::victim::Victim;

/// All that the server takes at once.
const CONNECTIONS: usize = 2048;

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_make_room_for_others() -> Result<()> {
    let victim = Victim::start().await?;
    let occupying = async {
        // The probe has one or two of them already.
        let opening = (0..CONNECTIONS - 2).map(|number| {
            let protocol = if number % 2 == 0 { "h2" } else { "http/1.1" };
            victim.connect(protocol)
        });
        let mut idle: Vec<_> = stream::iter(opening).buffer_unordered(20).try_collect().await?;
        // Nobody says a word: the server hangs up, whatever was agreed to be spoken.
        for stream in &mut idle {
            let mut words = Vec::new();
            let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut words)).await;
            // How it ends, in order or not, is all the same to somebody who said nothing.
            ensure!(ended.is_ok(), "an idle connection is kept");
        }
        Ok(())
    };
    victim.under("2,046 idle connections", occupying).await?;
    victim.stayed_below(400.0)
}

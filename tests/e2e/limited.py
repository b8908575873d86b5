# SPDX-License-Identifier: Apache-2.0
"""Brokers that lack something, or keep less than others do."""
from __future__ import annotations

from processes import Bridge
from stage import Stage, judge, require

TRANSACTIONS = {"AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"}
IDEMPOTENCE = {"InitProducerId"}


def ends_with(stage: Stage, config, hidden: set[str], words: str) -> None:
    """check and run both end with 78 and say why."""
    stage.proxy.hidden = hidden
    what = f"without {', '.join(sorted(hidden))}"
    checked = stage.run("check", "-c", str(config))
    said = checked.stdout + checked.stderr
    require(checked.returncode == 78 and words in said, f"{what}: check ended with {checked.returncode}:\n{said[-800:]}")
    bridge = Bridge(stage.binary, config, "-".join(sorted(hidden))).start()
    code = bridge.wait(30)
    require(code == 78 and words in bridge.tail(50), f"{what}: run ended with {code}:\n{bridge.tail()}")


def no_transactions(stage: Stage) -> str:
    """Brokers that serve no transactions, or no idempotent producers: check and run end with 78 and say so."""
    stage.broker(proxied=True)
    transactional, plain = stage.ready(delivery="exactly-once"), stage.config("plain.yaml")
    for hidden in (TRANSACTIONS, IDEMPOTENCE, TRANSACTIONS | IDEMPOTENCE):
        ends_with(stage, transactional, hidden, "the brokers do not serve transactions")
    ends_with(stage, plain, IDEMPOTENCE, "the brokers do not serve idempotent producers")
    stage.proxy.hidden = TRANSACTIONS
    stage.sender.send_paced(lambda n, now: stage.generator(1000).request(now), 20, 200)
    stage.bridge(plain, "plain")
    line = judge(stage.verify())
    stage.proxy.hidden = set()
    checked = stage.run("check", "-c", str(transactional))
    require(checked.returncode == 0, f"with both: check ended with {checked.returncode}:\n{checked.stdout}")
    return f"78 for each; without transactions at least once delivers: {line}"


SCENARIOS = {"no_transactions": no_transactions}

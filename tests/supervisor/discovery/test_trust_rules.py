"""An extension is trusted as it was seen, and with no more of the environment than was granted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery.environment import extension_environment, policy_of
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.trust_rules import TrustRecord, TrustState, data_advice, decide, widens
from supervisor.home.config import Config
from tests.support.project_extension import manifest
from wire.manifest import Manifest

NAMES = st.sampled_from(["ANTHROPIC_API_KEY", "AWS_KEY", "EDITOR", "PATH", "ZOTCORE_RPC_TOKEN"])
ENVS = st.lists(NAMES, max_size=4).map(tuple)
MANIFESTS = st.builds(
    Manifest, name=st.just("x"), exec=st.just("x"), env=ENVS, env_policy=st.sampled_from([None, "inherit", "minimal"])
)
CONFIGS = st.builds(
    Config, secrets=st.sampled_from([(), ("AWS_*",)]), env_policy=st.sampled_from(["inherit", "minimal"])
)


@given(
    st.none() | st.builds(TrustRecord, hash=st.sampled_from("ab"), name=st.just("x"), env=ENVS),
    st.sampled_from("ab"),
    ENVS,
)
def test_only_what_was_trusted_as_it_is_and_asks_for_no_more_is_trusted(entry, content, env):
    standing = decide(entry, content, env)
    assert (standing is TrustState.NEVER_SEEN) == (entry is None)
    if entry is not None:
        more = set(env) - set(entry.env)
        assert (standing is TrustState.ASKS_FOR_MORE_ENV) == bool(more)
        assert (standing is TrustState.TRUSTED) == (not more and content == entry.hash)


@given(MANIFESTS, MANIFESTS, CONFIGS)
def test_a_manifest_widens_exactly_if_it_gets_more(old, new, config):
    host = dict.fromkeys(["ANTHROPIC_API_KEY", "AWS_KEY", "EDITOR", "PATH", "ZOTCORE_RPC_TOKEN", "OTHER"], "")
    was, will_be = (
        extension_environment(FoundExtension(Path("/x"), manifest_, Scope.GLOBAL), config, host)
        for manifest_ in (old, new)
    )
    more = set(will_be) - set(was)
    said = widens(old, new, config, host)
    assert bool(said) == bool(more)
    opened = (policy_of(old, config), policy_of(new, config)) == ("minimal", "inherit")
    assert ("env_policy: inherit" in said) == opened
    assert {name for name in said if name != "env_policy: inherit"} <= set(new.env)


def test_a_manifest_widens_by_named_variables_and_by_its_policy():
    config = Config(secrets=("AWS_*",))
    assert widens(manifest(), manifest(env=("AWS_KEY", "PATH", "ZOTCORE_RPC_TOKEN")), config, {}) == ["AWS_KEY"]
    assert widens(manifest(env=("AWS_KEY",)), manifest(), config, {}) == []
    minimal = manifest(env_policy="minimal")
    assert widens(minimal, manifest(env_policy="minimal", env=("EDITOR",)), config, {}) == ["EDITOR"]
    assert widens(minimal, manifest(), config, {}) == ["env_policy: inherit"]
    assert widens(minimal, manifest(), Config(env_policy="minimal"), {}) == []


@pytest.mark.parametrize(
    ("changed", "entries"),
    [
        (("run.log (new)", "state.json", "old.db (gone)"), '["x.csv","run.log","state.json","old.db"]'),
        (("state.db-wal (new)", "state.db"), '["x.csv","state.db"]'),
        ((), ""),
        (("run.log", "lib.py (new)"), ""),
        (("run.log", "extension.json"), ""),
        (("package.json",), ""),
        (("rules.json",), ""),
        (("logs (new)", "logs/run.log (new)"), ""),
        (("a*.log (new)",), ""),
    ],
)
def test_only_where_all_that_has_changed_may_be_data_the_manifest_is_advised_to_name_it(changed, entries):
    said = data_advice(changed, manifest(args=["rules.json"], data=["x.csv"]))
    assert said.partition('"data": ')[2] == entries


def test_a_long_advice_is_cut():
    assert len(data_advice([f"{number}.log" for number in range(500)], manifest())) < 500

"""Which traces are exported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.telemetry.sampler import Sampler, read_sampler
from wire.trace_context import TraceContext

TRACES = st.binary(min_size=16, max_size=16).filter(any).map(bytes.hex)
RATIOS = st.floats(0, 1)


@pytest.mark.parametrize(
    ("name", "arg", "sampler"),
    [
        ("", "", Sampler()),
        ("always_on", "", Sampler(1.0, follows_parent=False)),
        ("always_off", "0.5", Sampler(0.0, follows_parent=False)),
        ("traceidratio", "0.25", Sampler(0.25, follows_parent=False)),
        (" ParentBased_TraceIdRatio ", " 0.25 ", Sampler(0.25)),
        ("parentbased_traceidratio", "", Sampler()),
        ("parentbased_always_on", "", Sampler()),
        ("parentbased_always_off", "", Sampler(0.0)),
    ],
)
def test_each_sampler_of_the_standard(name, arg, sampler):
    assert read_sampler(name, arg) == (sampler, "")


@pytest.mark.parametrize("name", ["jaeger_remote", "on", "parentbased_", "parentbased_xray"])
def test_an_unknown_one_is_told_and_exports_all(name):
    assert read_sampler(name, "") == (
        Sampler(), f"OTEL_TRACES_SAMPLER={name} is unknown; parentbased_always_on is used",
    )  # fmt: skip


@pytest.mark.parametrize("arg", ["half", "-0.1", "1.5", "nan", "inf"])
def test_a_ratio_that_is_none_is_told(arg):
    sampler, remark = read_sampler("traceidratio", arg)
    assert sampler == Sampler(1.0, follows_parent=False)
    assert "OTEL_TRACES_SAMPLER_ARG" in remark


@given(TRACES, RATIOS, RATIOS)
def test_a_larger_ratio_keeps_each_trace_of_a_smaller_one(trace, one, other):
    low, high = sorted((one, other))
    assert Sampler(low).is_sampled(trace) <= Sampler(high).is_sampled(trace)


@given(TRACES)
def test_all_or_none(trace):
    assert Sampler(1.0).is_sampled(trace)
    assert not Sampler(0.0).is_sampled(trace)


@given(TRACES, RATIOS)
def test_the_same_decision_as_the_sdk(trace, ratio):
    from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased

    decided = TraceIdRatioBased(ratio).should_sample(None, int(trace, 16), "span").decision
    assert Sampler(ratio).is_sampled(trace) == (decided is Decision.RECORD_AND_SAMPLE)


@given(TRACES, RATIOS, st.booleans(), st.booleans())
def test_a_trace_that_began_elsewhere_keeps_its_decision_if_the_sampler_follows_it(trace, ratio, was_sampled, follows):
    outside = TraceContext(trace, "00" * 7 + "01", was_sampled, "a=b")
    sampler = Sampler(ratio, follows)
    here = sampler.judge_outside(outside)
    assert here is not None
    assert here.is_sampled == (was_sampled if follows else sampler.is_sampled(trace))
    assert (here.trace_id, here.span_id, here.state) == (outside.trace_id, outside.span_id, "a=b")
    assert sampler.judge_outside(None) is None

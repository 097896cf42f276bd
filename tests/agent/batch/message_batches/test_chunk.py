"""Requests go together as far as the provider's limits allow, under ids that are ours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.batch.message_batches import chunk
from agent.batch.message_batches.chunk import CUSTOM_ID, Chunk, custom_id, number_in


@given(st.text("0123456789abcdef", min_size=16, max_size=16), st.integers(0, chunk.REQUESTS - 1))
def test_an_id_tells_its_number_to_its_own_message_batch_only(nonce: str, number: int) -> None:
    name = custom_id(nonce, number)
    assert CUSTOM_ID.fullmatch(name)
    assert number_in(name, nonce) == number
    assert number_in(name, nonce[::-1] + "x") is None


@given(st.text())
def test_foreign_ids_have_no_number(name: str) -> None:
    found = number_in(name, "ab12")
    assert found is None or custom_id("ab12", found) == name


def test_an_id_longer_than_the_provider_allows_is_foreign() -> None:
    assert number_in(custom_id("ab12", 1) + "1" * 5000, "ab12") is None


def test_the_limits_end_a_chunk() -> None:
    full = Chunk()
    full.count = chunk.REQUESTS - 1
    assert full.has_room("a", 10)
    full.add("a", 10)
    assert not full.has_room("a", 10)
    large = Chunk()
    large.add("a", chunk.BYTES - 100)
    assert large.has_room("a", 50)
    assert not large.has_room("a", 100)
    named = Chunk()
    named.add("é" * (chunk.NAMES_BYTES // 6), 10)
    assert not named.has_room("é", 10)
    assert Chunk().has_room("a", 10 * chunk.BYTES), "the provider refuses it in words"

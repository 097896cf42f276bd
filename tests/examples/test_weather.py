"""The weather example: its tool, and what it refuses."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def weather(shared):
    return shared("weather")


@pytest.mark.parametrize(
    ("city", "text"),
    [
        ("Berlin", "Berlin: 16°C, fog (made up from the name)"),
        ("BERLIN", "BERLIN: 16°C, fog (made up from the name)"),
        ("\tSão Paulo ", "São Paulo: 18°C, snow (made up from the name)"),
        ("Oslo", "Oslo: 23°C, sunny (made up from the name)"),
    ],
)
def test_the_weather_is_always_the_same(weather, city, text):
    assert weather.call("weather", city=city) == text


@pytest.mark.parametrize("args", ["{}", "null", "[]", '{"city":7}', '{"city":" "}', '{"city":null}'])
def test_an_unknown_city_is_an_error(weather, args):
    weather.send_bytes(b'{"type":"tool_call","id":"1","name":"weather","args":%s}\n' % args.encode())
    result = weather.frame()
    assert result["is_error"]
    assert result["content"][0]["text"] == 'weather needs "city", the name of a city'


def test_half_a_character_does_no_harm(weather):
    assert "°C" in weather.call("weather", city="\ud83d")

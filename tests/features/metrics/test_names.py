from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from relume.errors import ConfigError, InputError
from relume.features.metrics import edges, peers, stall
from relume.features.metrics.names import is_metric, load_names
from relume.features.metrics.points import Series
from relume.features.metrics.queries import Query, queries_of

TABLE = load_names()


def place(name: str, **labels: str) -> Series | None:
    named = TABLE.named(name, labels)
    return None if named is None else named.series


def test_the_packaged_table_is_sound() -> None:
    """Each name of Relume's has one meaning: one unit, one kind of part."""
    assert len(TABLE.rules) > 50
    forms: dict[str, set[object]] = {}
    for rule in TABLE.rules.values():
        assert is_metric(rule.to)
        forms.setdefault(rule.to, set()).add((rule.scale, rule.device, rule.fold))
    assert all(len(found) == 1 for found in forms.values())


def test_everything_that_is_looked_at_has_a_name_in_the_table() -> None:
    known = {rule.to for rule in TABLE.rules.values()}
    assert known >= {*stall.METRICS, *peers.METRICS, *edges.FAULT_COUNTERS, edges.XID}


def test_counters_of_exporters_are_counters_here() -> None:
    """The names of node-exporter say it; a gauge that is taken for one would give rates."""
    for name, rule in TABLE.rules.items():
        if re.fullmatch(r"node_.*_total", name):
            assert rule.to.endswith("_total"), name


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ({"Hostname": "gpu-a01", "instance": "10.0.0.1:9400"}, "gpu-a01"),
        ({"instance": "gpu-a01:9100"}, "gpu-a01"),
        ({"instance": "10.0.0.1:9100"}, "10.0.0.1"),
        ({"instance": "[fe80::1]:9100"}, "fe80::1"),
        ({"instance": "fe80::1"}, "fe80::1"),
        ({"instance": "gpu-a01.hpc.example"}, "gpu-a01.hpc.example"),
        ({"Hostname": ""}, None),
        ({}, None),
    ],
)
def test_the_node_is_what_the_first_label_says(labels: Mapping[str, str], node: str | None) -> None:
    assert TABLE.named("node_load1", labels).series.node == node  # type: ignore[union-attr]


def test_parts_of_a_node_are_told_apart() -> None:
    nic = place("node_infiniband_link_downed_total", instance="n1", device="mlx5_0", port="1")
    assert nic == Series("nic_link_downs_count_total", "n1", None, "mlx5_0/1")
    mig = place("DCGM_FI_DEV_POWER_USAGE", Hostname="n1", gpu="2", GPU_I_ID="5")
    assert mig == Series("gpu_power_watts", "n1", "2", "5")
    assert place("node_network_up", instance="n1", device="lo") is None


@pytest.mark.parametrize(
    ("text", "rank"),
    [("3", 3), ("0", 0), ("", None), ("-1", None), ("x", None), ("9" * 30, None), ("٣", None)],
)
def test_a_rank_is_a_number(text: str, rank: int | None) -> None:
    named = TABLE.named("node_load1", {"rank": text})
    assert named is not None
    assert named.rank == rank


SITE = """
[labels]
node = ["machine"]
domains = [".hpc.example"]

[[metric]]
from = ["DCGM_FI_DEV_GPU_TEMP", "my_temp"]
to = "gpu_temperature_celsius"
scale = 0.5
device = ["slot"]
"""


def test_a_site_extends_the_table_and_goes_before_it() -> None:
    table = load_names([("site.toml", SITE)])
    named = table.named("my_temp", {"machine": "n1.hpc.example", "Hostname": "x", "slot": "a"})
    assert named is not None
    assert (named.series, named.scale) == (
        Series("gpu_temperature_celsius", "n1", None, "a"),
        0.5,
    )
    assert table.rules["DCGM_FI_DEV_GPU_TEMP"].scale == 0.5
    assert table.rules.keys() > TABLE.rules.keys()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[metric]", "site.toml: names of metrics; found"),
        ("[[metric]]\nfrom = ['a']\nto = 'b_watts'\nscael = 2", "unknown field `scael`"),
        ("[[metric]]\nfrom = 'a'\nto = 'b_watts'", "Expected `array`"),
        ("[[metric]]\nfrom = ['a']\nto = 'power'", "to; found 'power'; expected a name that ends"),
        ("[[metric]]\nfrom = ['a b']\nto = 'b_watts'", "from; found 'a b'"),
        ("[[metric]]\nfrom = []\nto = 'b_watts'", "from; found no name"),
        ("[[metric]]\nfrom = ['a']\nto = 'b_watts'\nscale = 0.0", "scale; found 0.0"),
        ("[[metric]]\nfrom = ['a']\nto = 'b_watts'\nscale = nan", "scale; found nan"),
        ("[[metric]]\nfrom = ['a']\nto = 'b_watts'\ndevice = ['a-b']", "device; found 'a-b'"),
        ("[[metric]]\nfrom = ['a']\nto = 'b_watts'\nunless = { 'a-b' = ['x'] }", "unless; found"),
        ("[[metric]]\nfrom = ['a']\nto = 'b_watts'\nfold = 'max'", "Invalid enum value"),
        ("x = 1", "unknown field `x`"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        load_names([("site.toml", text)])


def test_without_queries_everything_that_is_known_is_asked_for() -> None:
    asked = queries_of(TABLE, [], 15)
    assert len(asked) == len(TABLE.rules)
    assert Query("last_over_time(DCGM_FI_DEV_SM_CLOCK[29s])") in asked
    [cpu] = [one for one in asked if one.name == "node_cpu_seconds_total"]
    assert 'mode!="idle"' in cpu.promql
    assert cpu.promql.startswith("sum by (Hostname, node, nodename, instance, gpu, gpu_id, rank) (")


def test_a_query_is_a_known_name_or_promql_or_has_a_name_of_ours() -> None:
    texts = ["up", "rate(x[5m]) == 1", "gpu_power_watts = avg(power)", 'x{a="b"}', "a=~b"]
    assert queries_of(TABLE, texts, 1) == [
        Query("last_over_time(up[1s])"),
        Query("rate(x[5m]) == 1"),
        Query("avg(power)", metric="gpu_power_watts"),
        Query('x{a="b"}'),
        Query("a=~b"),
    ]


@pytest.mark.parametrize(("text", "words"), [(" ", "nothing"), ("power=avg(x)", "its unit")])
def test_a_query_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        queries_of(TABLE, [text], 15)


def test_values_of_labels_are_quoted() -> None:
    text = "[[metric]]\nfrom = ['m']\nto = 'm_count'\nunless = { a = ['\"} or vector(1) or x{a=\"', '\\'] }"
    [query] = queries_of(load_names([("site", text)]), ["m"], 15)
    assert query.promql == r'last_over_time(m{a!="\"} or vector(1) or x{a=\"",a!="\\"}[29s])'

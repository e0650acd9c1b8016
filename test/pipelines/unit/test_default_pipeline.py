"""The default pipeline: every pass is known, phases are in order, options and phases are checked by name."""

import subprocess
import sys

import pytest

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines import registry
from graph_engine.pipelines.default import DEFAULT, OPTIONS, Phase, default_pipeline
from graph_engine.pipelines.spec import parse_pipeline


def test_phases_are_in_order_and_passes_are_known():
    assert [phase.index for phase, _ in DEFAULT] == sorted(phase.index for phase, _ in DEFAULT)
    for _, text in DEFAULT:
        for spec in parse_pipeline(text):
            assert spec.name in registry.PASSES


def test_every_pass_loads_and_is_named_as_registered():
    for name in registry.PASSES:
        assert registry.load_pass(name).name == name
        file = registry.PASSES[name].split(":")[0].rsplit(".", 1)[1]
        assert file == name.replace("-", "_")


def test_every_pass_has_a_help_line():
    for name in registry.PASSES:
        assert len(registry.help_line(name)) > 10


def test_until_and_after_choose_phases():
    chosen = default_pipeline({}, after=Phase.SIMPLIFIED, until=Phase.PRECISION)
    assert {phase for phase, _ in chosen} == {Phase.FUSED, Phase.PRECISION}


def test_soc_reaches_the_passes_that_name_it():
    specs = [spec for _, spec in default_pipeline({"soc": "my chip.yaml"})]
    assert {spec.options["soc"] for spec in specs if "soc" in spec.options} == {"my chip.yaml"}


def test_values_need_no_quoting_and_keys_are_not_prefixes_of_each_other():
    name = """a "b" 'c' $soc}"""
    options = {"keep_dtype": name, "keep_dtype_nodes": "conv$soc,$keep_dtype", "soc": "my chip.yaml"}
    (mark,) = [spec for _, spec in default_pipeline(options) if spec.name == "mark-precision"]
    assert mark.options["keep_dtype"] == name
    assert mark.options["keep_dtype_nodes"] == "conv$soc,$keep_dtype"


def test_every_option_reaches_a_pass():
    values = {key: f"<{key}>" for key in OPTIONS}
    given = {value for _, spec in default_pipeline(values) for value in spec.options.values()}
    assert set(values.values()) <= given


@pytest.mark.parametrize("title", [phase.title for phase in Phase])
def test_phase_names(title: str):
    assert Phase.named(title).title == title


def test_unknown_names_give_the_nearest():
    with pytest.raises(GraphEngineError, match="did you mean 'laid-out'"):
        Phase.named("laidout")
    with pytest.raises(GraphEngineError, match="did you mean 'soc'"):
        default_pipeline({"scoc": "x"})
    with pytest.raises(GraphEngineError, match="did you mean 'fuse-conv-bn-relu'"):
        registry.load_pass("fuse-conv-bn")


def test_listing_passes_imports_nothing_heavy():
    code = (
        "import sys; from graph_engine.tools.ge_opt.main import make_parser; make_parser().format_help();"
        "print(*sorted({'xdsl', 'numpy', 'onnx', 'yaml', 'rich'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""

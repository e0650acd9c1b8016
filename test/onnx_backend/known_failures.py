"""Cases of the ONNX Backend Test Suite that do not pass, by name or pattern, with the reason.

The lane fails on a case that fails and stands not here, and on one that stands here and passes.
"""

from fnmatch import fnmatchcase

REFERENCE: dict[str, str] = {
    **dict.fromkeys(
        (
            "test_sequence_insert_*", "test_sequence_map_*", "test_split_to_sequence_*",
            "test_identity_sequence", "test_if_seq", "test_loop13_seq", "test_loop16_seq_none",
        ),
        "sequences that enter or leave a graph are refused by name: the device has tensors only",
    ),
    **dict.fromkeys(
        (
            "test_optional_get_element_optional_*", "test_optional_get_element_sequence",
            "test_optional_has_element_empty_optional_input", "test_optional_has_element_optional_input",
            "test_optional_has_element_tensor_input", "test_identity_opt", "test_if_opt",
        ),
        "optionals are refused by name: the device has tensors only",
    ),
    **dict.fromkeys(
        ("test_string_*", "test_strnorm*", "test_regex_*", "test_equal_string*", "test_tfidf*"),
        "strings are refused by name",
    ),
    "test_ai_onnx_ml_*": "ai.onnx.ml is not a domain of neural networks",
    "test_image_decoder_*": "decodes image files",
    "test_bernoulli*": "random numbers: no two implementations agree",
    **dict.fromkeys(
        (
            "test_training_dropout", "test_training_dropout_mask", "test_training_dropout_default",
            "test_training_dropout_default_mask",
        ),
        "random numbers: no two implementations agree",
    ),
    **dict.fromkeys(
        ("test_adagrad*", "test_adam*", "test_momentum*", "test_nesterov_momentum", "test_gradient_of_*"), "training"
    ),
    "test_not_?d": "opset 1; the importer starts at 6",
    "test_attention_4d_causal_fp16*": "one element in a hundred is one fp16 step away: the case rounds after every step",
}  # fmt: skip
"""Through import, passes and reference."""

CHIP: dict[str, str] = {
    **dict.fromkeys(
        (
            "test_isinf", "test_isinf_positive", "test_isinf_negative", "test_attention_causal_boolmask_nan_robustness_expanded",
            "test_attention_4d_causal_nonpad_negative_offset_structural_empty_expanded",
            "test_attention_local_window_gqa_rank4_mask_expanded", "test_attention_4d_causal_padded_kv_bf16*",
            "test_attention_23_boolmask_fullymasked_row_nan_robustness_expanded",
            "test_attention_2?_fullymasked_qk_matmul_output_mode3_zero_expanded",
            "test_attention_24_qk_matmul_output_mode3_softmax_precision_expanded",
        ),
        "fp16 arithmetic saturates on this chip: an infinity becomes 65504 and is no longer equal to one",
    ),
}  # fmt: skip
"""Through the modelled chip, of the cases that pass the reference."""


def reason(table: dict[str, str], name: str) -> str | None:
    """Why the case fails, None if it has to pass."""
    if name in table:
        return table[name]
    return next((why for pattern, why in table.items() if fnmatchcase(name, pattern)), None)


def matches(pattern: str, name: str) -> bool:
    """Whether an entry stands for a case."""
    return fnmatchcase(name, pattern)

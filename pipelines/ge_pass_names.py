"""Names of the Graph Engine's fusion passes, and which passes and patterns of ours do their work.

Interface facts: names from the vendor's user documentation of fusion switches and fusion passes (see
docs/provenance.md). A name may be written with or without its ending `FusionPass`, `Pass` or `Fusion`.
"""

from __future__ import annotations

import re

GRAPH: dict[str, tuple[str, ...]] = {
    # constants of convolutions
    "ConvBatchnormFusionPass": ("fold-batch-norm-into-conv",),
    "HostBN": ("fold-batch-norm-into-conv",),
    "ConvScaleFusionPass": ("fold-scale-into-conv", "absorb-scale-into-batch-norm"),
    "AConv2dMulFusion": ("fold-scale-into-conv",),
    "AABiasaddConvFusion": ("fold-scale-into-conv",),
    "Conv2DSqueezeBiasadd": ("fold-scale-into-conv",),
    "PadConv2dFusionPass": ("fold-pad-into-conv",),
    "PadDepthwiseConv2d": ("fold-pad-into-conv",),
    "PadMaxPool": ("fold-pad-into-pool",),
    "SplitConvConcat": ("fuse-split-conv-concat",),
    "ASplitConv2dConcatPass": ("fuse-split-conv-concat",),
    "SameInputConv2dPass": ("fuse-same-input-convs",),
    # matrix products
    "MatMulBiasAdd": ("fold-bias-into-matmul",),
    "BatchMatmulFusionPass": ("fuse-transpose-matmul",),
    "BatchMatMulV2Reshape": ("fuse-heads",),
    "FlashAttention": ("fuse-attention",),
    # norms
    "SoftmaxFusionPass": ("fuse-softmax",),
    "LayerNormFusionPass": ("fuse-layer-norm",),
    "LayerNormONNX": ("fuse-layer-norm",),
    "LayerNormInference": ("fuse-layer-norm",),
    "GroupNorm": ("fuse-group-norm",),
    "AddLayerNorm": ("fuse-reduction",),
    "AddRmsNorm": ("fuse-reduction",),
    # known, but done elsewhere or not at all
    **dict.fromkeys(
        (
            *("Conv2DQuantProcess", "MatmulV2QuantProcess", "FCQuantProcess", "PoolingQuantProcess"),
            *("MaxPoolQuantProcess", "SplitQuant", "V100NotRequant", "V100Requant", "V200NotRequant", "V200Requant"),
            *("SpaceToBatchConv2dBatchToSpace", "ADepthwiseFusion", "DepthwiseToConv2d"),
            *("AReduceAll", "AReduceAny", "AReduceMax", "AReduceMean", "AReduceMin", "AReduceProd", "AReduceSum"),
            *("ABatchnormFusion", "AGroupNormSilu", "GroupNormRelu", "AddLayerNormDynamicQuant"),
            *("FusedInferAttentionScore", "GLU", "CommonGRU", "MatmulLayerNormReduce"),
            *("BatchMatMulDequantElemwise", "ZConcatD", "ZConcatv2d", "ZConcatExt3", "ZSplitD", "ReluFusion"),
            *("MatmulCast", "BatchMatMulV2Reduce", "AAMatMulNzToNd", "SwinTransformerLnQKV", "DropOutDoMask"),
            *("ConvConcat", "SplitConv", "StrideHoisting", "ConvWeightCompress", "GeGluV2", "AGlu"),
            *("RopeQuantKvcache", "CubeTransFixpipe", "FIXPIPEFUSIONPASS", "FIXPIPEAPREQUANTFUSIONPASS"),
            *("FIXPIPEARELUQUANTFUSIONPASS", "ZZMatMulToMatmulV3", "BatchMatMulToV3", "Conv3dToV2"),
            *("MatmulAllReduceTranspose", "MatmulAllReduceAddRmsNorm", "MulFusionOptimize"),
            *("ConcatCOptimize", "GatherV2ConcatV2", "StridedSliceConcat", "MatmulWeightPrefetch", "SubMulConcat"),
            *("SoftmaxSmallOp", "BatchNormBnInferOnly", "ReduceMeanDTransnode"),
        ),
        (),
    ),
}
"""Graph fusion: rewrites of operators and constants."""

UB: dict[str, tuple[str, ...]] = {
    "TbeConv2DEltwisePass": ("fuse-conv-bn-relu/fuse-epilogue",),
    "TbeConvCommonRules0": ("fuse-conv-bn-relu/fuse-epilogue",),
    "TbeConvCommonRules2": ("fuse-conv-bn-relu/fuse-epilogue",),
    "TbeDepthwiseConvElemwise": ("fuse-conv-bn-relu/fuse-epilogue",),
    "TbeConv3dElemwise": ("fuse-conv-bn-relu/fuse-epilogue",),
    "ATbeMatmulElemwise": ("fuse-matmul-elementwise/fuse-epilogue",),
    "TbeBatchMatmulFusedMulAdd": ("fuse-matmul-elementwise/fuse-epilogue",),
    "TbeFullyconnectionElemwiseDequant": ("fuse-matmul-elementwise/fuse-epilogue",),
    "TbeEltwiseFusionPass": ("fuse-elementwise",),
    "TbeDynamicElemwiseBroadcast": ("fuse-elementwise",),
    "TbeMultiOutput": ("join-vector-ops",),
    "TbeReduceElemwise": ("fuse-reduction",),
    "TbeDynamicElemwiseReduce": ("fuse-reduction",),
    "AddRmsNorm": ("fuse-reduction",),
    "AddLayernormV3": ("fuse-reduction",),
    "MatmulConfusiontranspose": ("fuse-heads",),
    "BatchMatmulConfusiontranspose": ("fuse-heads",),
    **dict.fromkeys(
        (
            *("TbeAippConvReluMaxpooling", "TbeAippConvReluQuant", "TbeAippConvSingleIn", "TbeAippCommon"),
            *("TbeConvReluQuant", "TbeConvReluMaxpooling", "TbeConvDoubleIn", "TbeConvSigmoidMulQuant"),
            *("TbeConvBnreduce", "TbeConvDequant", "TbeConvDequantQuant", "TbeConvDequantVaddRelu"),
            *("TbeConvDequantVaddReluQuant", "TbeConvRequant", "TbeConvDequantS16", "TbeStridedreadConvStridedwrite"),
            *("TbeConvStridedwrite", "MatmulFastGelugrad", "MatmulGelugrad", "TbeMatmulDequant", "MatmulTransdata"),
            *("TbeMatmulFixPipe", "TbeBnupdateEltwise", "TbeEltwiseQuant", "TbeEltwiseCast"),
            *("TbePool2dQuant", "TbeReadSelectEltwise", "EltwiseWriteSelect", "TbeConvFixPipe", "TbeFixPipe"),
            *("MatmulToMatMulV3UB", "TbeConvDequantSigmoidMulAdd", "AutoSingleNorm", "AutoSingleReduce"),
        ),
        (),
    ),
}
"""UB fusion: several operators become one kernel, and what is between them stays on the chip."""

UB_REWRITES = ("fuse-epilogue", "fuse-elementwise", "fuse-reduction")
"""Our rewrites that gather operators into one kernel; the other fusions are graph fusions."""

FUSING_PATTERNS = ("fold-pad-into-conv", "fold-pad-into-pool")
"""Patterns that fuse, in passes that are no fusion passes."""

_ENDING = re.compile(r"(FusionPass|Pass|Fusion)$", re.IGNORECASE)


def without_ending(name: str) -> str:
    """The name in the form that two spellings of it share."""
    return _ENDING.sub("", name).lower()


def our_names(name: str, section: str | None = None) -> tuple[str, ...] | None:
    """What of ours does the work of a GE pass; nothing if we have none; None for a name that GE does not have."""
    tables = {"GraphFusion": (GRAPH, UB), "UBFusion": (UB, GRAPH)}[section or "GraphFusion"]
    for table in tables:
        for known, ours in table.items():
            if without_ending(known) == without_ending(name):
                return ours
    return None


def counted_as(pass_name: str, rewrite: str) -> str:
    """The name under which a rewrite is counted: the first of GE's that stands for it, else its own."""
    for known, ours in (UB if rewrite in UB_REWRITES else GRAPH).items():
        if f"{pass_name}/{rewrite}" in ours or rewrite in ours:
            return known
    return rewrite

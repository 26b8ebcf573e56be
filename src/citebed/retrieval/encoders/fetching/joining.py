"""From public weights and an adapter to a model folder that runs quickly on any CPU.

The weights become whole numbers of 8 bits by ONNX Runtime's own quantiser, each column with its
scale; what goes through the network is brought to 8 bits text by text. One bit is left unused:
processors without VNNI add two products in 16 bits, and would overflow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError, import_extra
from citebed.retrieval.encoders.loading.architectures import Shape
from citebed.retrieval.encoders.loading.graph import encoder_graph
from citebed.retrieval.vectors.model_files import Arrays

QUANTISED = "int8"
"""What ``config.json`` says of a model that was quantised, under the name ``quantised``."""

QUANTISED_WEIGHTS = f"{QUANTISED}, for texts alone"
"""What a card says of the weights; an encoder of another kind is made anew when it is fetched."""
_QUANTISED_PARTS = ("MatMul", "Gather")


def onnx_weights(data: bytes) -> dict[str, NDArray[Any]]:
    """The weights in an exported BERT by the names that they had before it was exported.

    An export keeps the names of most; the matrices of linear parts it turns and numbers, and only
    the operator that uses one is still called by the part's name (``/encoder/layer.0/…/MatMul``).
    """
    onnx = import_extra("neural", "onnx")
    try:
        graph = onnx.ModelProto.FromString(data).graph
        tensors = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    except Exception as error:  # protobuf's errors and numpy's
        raise CitebedError(f"the public weights cannot be read: {error}") from error
    named = {name: array for name, array in tensors.items() if not name.startswith("onnx::")}
    for node in graph.node:
        matrix = tensors.get(node.input[1]) if node.op_type == "MatMul" else None
        if matrix is not None and node.input[1] not in named:
            part = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            named[f"{part}.weight"] = matrix.T
    return named


def write_quantised(path: Path, shape: Shape, weights: Arrays) -> None:
    """An encoder as one ONNX file with weights in 8 bits; other files beside it come and go."""
    onnx = import_extra("neural", "onnx")
    quantisation = import_extra("neural", "onnxruntime.quantization")
    plain = path.with_name("weights.onnx")
    plain.write_bytes(_with_weights(shape, weights).SerializeToString())
    try:
        quantisation.quantize_dynamic(
            plain,
            path,
            per_channel=True,
            reduce_range=True,
            weight_type=quantisation.QuantType.QInt8,
            op_types_to_quantize=list(_QUANTISED_PARTS),
            # Of what an operator of ONNX Runtime's own gives, the quantiser knows no kind.
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
    except OSError:
        raise
    except Exception as error:  # its errors share no class; a full disk is one of the causes
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise CitebedError(
            f"ONNX Runtime could not bring the weights to 8 bits ({reason}). Is there room on the "
            "disk? It takes 300 MB for a while."
        ) from error
    plain.unlink()


def _with_weights(shape: Shape, weights: Arrays) -> Any:
    """The graph with its weights inside."""
    onnx = import_extra("neural", "onnx")
    graph = encoder_graph(shape, weights, alone=True)
    model = onnx.ModelProto.FromString(graph.model)
    for tensor in model.graph.initializer:
        array = np.ascontiguousarray(graph.weights[tensor.name])
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    # The graph is in the form that the quantiser's preparation makes of others; without its mark
    # the quantiser would ask for that.
    model.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    return model

"""Weights read from safetensors and from PyTorch's pickles, whole and broken."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import FormatError
from citebed.retrieval.encoders.loading.torch_pickle import Storage, Tensor, array_of
from citebed.retrieval.encoders.loading.weights import (
    read_safetensors,
    read_torch_pickle,
    with_current_names,
)

# torch.save (PyTorch 2.15) of the tensors below, compressed: its form since 1.6, and before.
ARCHIVE = (
    r"c-o~_Pi)&%7=LjbC(BBkc7?JsN@4s-VM`Ooahm;UGBeC1gXoNqqDd%n6R$D2aX;s!6PzkR3!DIfIHDcl%mFlUsK$*O"
    r"oH-zI+KB@v!~x#(%QE{#X;|~3&rgot@Av(_=lA{W4I?fhluDtYkwJ6F@|$gE*IsQ|*vjp^>+0Gxx)B+BLbK_)uHD3r"
    r"*XgF;@LRTTx2`%(oCdUFLM&TP5V9TDaylS1u}2tljUIN~Zo1*yn?1*EHL%_3dVXV9PD4DKttSbfOIBK2Hi!(8)?LrS"
    r"Z?Zqrkf_JVnmkDLIGLL}JxCf;7*f{_WW){e08SX95j%kNCv7U?B!(#y9;r)YG4A;ty9Lv2lBq4W6K$y-U}q>+G~x%4"
    r"F=CWrmSN{GoHAj)F48J2AH$<O^0DiNWC(_E01GVZ;|zHk!=edK1jx4K-h?v@*{|pt`D;+nlR-fRSR#}HhNq|)VIP)_"
    r"*gibX=$^rF)`Vw+?cDU~c0L#3(}FE3r~}UD15O!UV4T^2lj>U`1(NAS#`_Y6b0(Y*cyF~m*M?k#_cgDxHQ-zgIE#>H"
    r"oQ1wlnd&SuJ_SR`1U1;~ZqsrtAIkT)EI=!;M$j<~6@p$_VW<ljE}C$ueu8bYwQXbDhsz@l%wR<t)+5{{s50&vRYpWz"
    r"p%;zicp1Z06JGf^xY0j?S53Iq%WW9Rl=sv8r*{Q}Xl#t^hy_#`bVTl^=WkoMv1|KXa`JVp#5KnM90i*G`#*pCfU2i4"
    r"I{hLlKS<y2kA~$sTb*sYgLSQV90jUE1yparJyJRnjubG9ssjO=?_t}c&8}+~k5@Sxu7j~_Qw{r<|2R$0jC7=iX|x`3"
    r"rPaKyU6?=sW8GUPmnuRv5_=?WlQ<;tI|)=HUPxk@M7~Cqesk}ypYzmz#weYSDlO<*W=JVoLx+^}!*A=KQKJyYaMq%n"
    r"vaVg4WczO%R%=0iVd?CtW8^PRnm^fR{`+4xsFq*v7+++9H_*{ql&BU(*YfD$pZ{|3Omlb6+&xD9rAg~2RbHX_jUV5B"
    r"XMFydPzMg2XQKWqrfK$HzTSFkeE%;Y`GEli<#%o0ArADuMc@7nr=@GThZIwg)wPmZE>_fvs*s<o77BS)Ei0vpQdShX"
    r"Tr5>8`AV6p?5)YKXNit%pfX0q4s?bcJTs)6|Bm6&VFO->Am`#}l;`s#VG~`9kbE8{8FFr(Cv1eXQ86MKHeenecBknG"
    r"{3{W0-pOObE)>Pq5*)U`W5W&-#eT_SWgZ*u_$YQ>;;=;?8}8gF_BM}Icx<@qxV%XYTjH_do|%c(8^Vq_E8(NO6n(}i"
    r"G^WWm3`sh7za``62goUI{zqW*5B;137r5<rC)qvw+DJ$YGZn07YySgwU$xB"
)
STREAM = (
    r"c-noF*>2N76hLjqNvUaR*(qz-6P6ICNt&=VEu|EOt>(oq$a0;bHZpduJt+dIQeGMg-@pTpd`3QnS3aQ<5?p)S&<dB4"
    r"?sz<zoO9>SxF>y4++SZ8xAJelznm)dq-Q@f*sp_7&?f~!=mb9VE#EcPXb?KS2O=)e$MF}}Va%ll_1cc<fwZYBILSVA"
    r"s1Z6JX$YBhkPCViCqvs07-Wg0XYkGO803ho%Mru(R$+w5-7Y#U)VS1QXbF`UL7N7&z2I0(0imdY$XOlNbkJroKd|hQ"
    r"(PfSsDn>w8x{lj681+IwFxDyxWC{g+B$DGwbCrV3|Dr6qzR6zkNd>a{1g=pVGxeIPHq^?@bgfc`T%4%Y>0)kU&l&7n"
    r"CIZP2xeud6CSo6y&vum4eg<P2jO)2*=iR`gZ8%_~*p}^d@Py5QlMzrRnLZpOV#Gbffrl9!(coxYn~sS^JN94P@dS5b"
    r"ndFE>q&`gX{7!P*DF&xCI1}S+(|rSHIW8&15>5>(ac+m9(rnbr<#N3Wc{E69I3Fb}ZNLR0ZooxOzr^6O23O)^SqY+J"
    r"xw;EKAD3FK4;6*oidqv#4JamxYq28A{yNqKA2+z>CWDd&w_?qE+jl9HcWIvD9U3ase-ur%0+mEDo$R6-?V`r<bp|sU"
    r"G~zQ1Ez>mvXzo??DpnnCBTPit9fTE&9CDYzJq_;bqx{^=ca+fpX7{+I!xaj&_E1%ucmOb$sOF=*G35tQx4@MT87yk>"
    r"Xfu9U`UH<PcoKa@ucI$F4JM{uAt`l_nbeb#Q;VBTy*N2q5{2zHIX5QkY`y!~%?d&bqlfVgV}S7kLulc8j66oU^_P)v"
    r"Ny%t1+Zt?-N0R5(Z{D`&g@!Qr18S-@r2"
)

BASE = np.arange(12, dtype=np.float32).reshape(3, 4) / 4
EXPECTED = {
    "plain": BASE,
    "turned": BASE.T,
    "part": BASE[1:, 2:],
    "half": np.array([0.5, -2.0]),
    "brain": np.array([[1.5], [-3.0]]),
    "whole": np.array([7, -7]),
    "scalar": np.array(2.5),
    "parameter": np.array([9.0]),
}


def saved(text: str) -> bytes:
    return zlib.decompress(base64.b85decode(text))


@pytest.mark.parametrize("text", [ARCHIVE, STREAM], ids=["archive", "stream"])
def test_what_pytorch_saved_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(saved(text))
    found = read_torch_pickle(path)
    assert list(found) == list(EXPECTED)
    for name, array in EXPECTED.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == (np.int64 if name == "whole" else np.float32)


@pytest.mark.parametrize("text", [ARCHIVE, STREAM], ids=["archive", "stream"])
def test_a_truncated_pickle_is_a_format_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pytorch_model.bin"
    data = saved(text)
    for size in range(0, len(data), 41):
        path.write_bytes(data[:size])
        with pytest.raises(FormatError, match=r"pytorch_model\.bin"):
            read_torch_pickle(path)


class Harmful:
    """Unpickled by the standard library, this would write a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (self.path, "w"))


def test_no_code_of_a_pickle_is_run(tmp_path: Path) -> None:
    path, trace = tmp_path / "pytorch_model.bin", tmp_path / "trace"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps({"a": Harmful(str(trace))}))
    path.write_bytes(content.getvalue())
    with pytest.raises(FormatError, match="which no table of weights needs"):
        read_torch_pickle(path)
    assert not trace.exists()


class Laughs:
    """A storage that is called by a list of lists of lists: written out, it has no end."""

    def __init__(self) -> None:
        self.name: list[object] = []
        for _ in range(60):
            self.name = [self.name, self.name]


class Naming(pickle.Pickler):
    def persistent_id(self, obj: object) -> object:
        return obj.name if isinstance(obj, Laughs) else None


def test_a_storage_of_a_name_without_end_is_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    Naming(content).dump({"a": Laughs()})
    with zipfile.ZipFile(tmp_path / "a.bin", "w") as archive:
        archive.writestr("model/data.pkl", content.getvalue())
    with pytest.raises(FormatError, match="not a file of PyTorch weights"):
        read_torch_pickle(tmp_path / "a.bin")


@pytest.mark.parametrize("packed", ["data.pkl", "byteorder", "data/0"])
def test_members_that_are_packed_are_refused(tmp_path: Path, packed: str) -> None:
    """PyTorch packs nothing: what unpacks to more than the file is, is made to hurt."""
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(saved(ARCHIVE))
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            is_it = name.endswith(f"/{packed}")
            how = zipfile.ZIP_DEFLATED if is_it else zipfile.ZIP_STORED
            archive.writestr(name, data + bytes(9_000_000 * is_it), how)
    with pytest.raises(FormatError, match=r"' is packed|larger than the file"):
        read_torch_pickle(path)


def test_an_archive_of_something_else_is_told(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "x")
    with pytest.raises(FormatError, match=r"the archive has no data\.pkl"):
        read_torch_pickle(path)


# --- without measure ------------------------------------------------------------------------

MEBIBYTE = 1 << 20
STORAGE = (
    b"(X\x07\x00\x00\x00storagectorch\nHalfStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ"
)


def views(count: int, size: int) -> bytes:
    """A pickle of many tensors, each all of one storage of half precision."""
    begins = b"ctorch._utils\n_rebuild_tensor_v2\n(" + STORAGE
    tensor = begins + b"K\x00J" + struct.pack("<i", size) + b"\x85K\x01\x85\x89}tR"
    names = (b"X\x04\x00\x00\x00" + b"%04d" % number for number in range(count))
    return b"\x80\x02}(" + b"".join(name + tensor for name in names) + b"u."


def archive_of(pickled: bytes, storage: bytes = b"", packed: bool = False) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        how = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        archive.writestr("model/data.pkl", pickled, how)
        archive.writestr("model/data/0", storage)
    return content.getvalue()


def stream_of(tensors: bytes, storage: bytes) -> bytes:
    """The form before PyTorch 1.6."""
    head = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
    return head + tensors + pickle.dumps(["0"], 2) + storage


HUGE = {
    "room for a billion objects": b"\x80\x02]r\0\0\0\x01.",
    "room in an archive": archive_of(b"\x80\x02]r\0\0\0\x01."),
    "a packed pickle": archive_of(b"\x80\x02" + b"]" * 64 * MEBIBYTE + b".", packed=True),
    "a long pickle": archive_of(b"\x80\x02" + b"]" * 8 * MEBIBYTE + b"."),
    "many instructions": archive_of(b"\x80\x02" + b"]" * 3 * MEBIBYTE + b"."),
    "many views of one storage": archive_of(views(200, MEBIBYTE), bytes(2 * MEBIBYTE)),
    "the same before 1.6": stream_of(
        views(200, MEBIBYTE), struct.pack("<q", MEBIBYTE) + bytes(2 * MEBIBYTE)
    ),
    "a storage without end": stream_of(views(1, 1), struct.pack("<q", 1 << 58)),
    "a string without end": b"\x80\x02X\xff\xff\xff\x7fabc",
    "names without end": b"\x80\x02}(" + b"(" * 50 + b"K\x01" + b"q\0h\0\x86" * 50 + b"K\x01u.",
}


@pytest.mark.parametrize("data", HUGE.values(), ids=HUGE.keys())
def test_a_file_takes_no_more_memory_than_a_few_times_its_size(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"pytorch_model\.bin: "):
            read_torch_pickle(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(data) + 80 * MEBIBYTE
    finally:
        tracemalloc.stop()


def test_weights_that_two_parts_share_are_read(tmp_path: Path) -> None:
    """As those of the words at both ends of a network."""
    path = tmp_path / "pytorch_model.bin"
    half = np.arange(1000, dtype=np.float16)
    path.write_bytes(archive_of(views(2, 1000), half.tobytes()))
    found = read_torch_pickle(path)
    for name in ("0000", "0001"):
        np.testing.assert_array_equal(found[name], half.astype(np.float32))


@pytest.mark.usefixtures("neural")
@pytest.mark.parametrize("read", [read_torch_pickle, read_safetensors])
def test_a_file_of_holes_is_refused(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"x")
    os.truncate(path, (4 << 30) + 1)
    with pytest.raises(FormatError, match=r"more than 4 GiB\. .* CITEBED_MAX_BYTES"):
        read(path)
    monkeypatch.setenv("CITEBED_MAX_BYTES", "5G")
    with pytest.raises(FormatError, match=r"not a"):
        read(path)


def test_a_tensor_has_no_more_numbers_than_its_storage() -> None:
    """Steps of 0 would make terabytes of one number."""
    tensor = Tensor(Storage("0", "<f4"), 0, (1 << 20, 1 << 20), (0, 0))
    with pytest.raises(ValueError, match="beyond its storage"):
        array_of(tensor, {"0": bytes(4)})


# --- safetensors ----------------------------------------------------------------------------


@pytest.mark.usefixtures("neural")
def test_safetensors_of_every_width(
    tmp_path: Path, write_safetensors: Callable[..., bytes]
) -> None:
    arrays = {
        "single": BASE,
        "double": BASE.astype(np.float64),
        "half": BASE.astype(np.float16),
        "brain": np.array([1.5, -3.0, 0.0], np.float32),
        "whole": np.array([[7, -7]]),
        "scalar": np.array(2.5, np.float32),
        "none": np.empty((0, 3), np.float32),
    }
    path = tmp_path / "model.safetensors"
    path.write_bytes(write_safetensors(arrays, bfloat16=("brain",)))
    found = read_safetensors(path)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == (np.int64 if name == "whole" else np.float32)


def header(entry: object) -> bytes:
    text = json.dumps({"x": entry}).encode()
    return struct.pack("<Q", len(text)) + text + bytes(16)


@pytest.mark.usefixtures("neural")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "header too small"),
        (b"\x00" * 7, "header too small"),
        (b"\xff" * 64, "header too large"),
        (struct.pack("<Q", 4) + b"{{{{", "invalid JSON"),
        (struct.pack("<Q", 2) + b"[]", "expected struct"),
        (header(5), "expected struct"),
        (header({"dtype": "F32", "shape": [4]}), "missing field `data_offsets`"),
        (header({"dtype": "F32", "shape": [3], "data_offsets": [0, 16]}), "invalid shape"),
        (header({"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}), "integer `-1`"),
        (header({"dtype": "F32", "shape": [4], "data_offsets": [-16, 0]}), "integer `-16`"),
        (header({"dtype": "F32", "shape": [8], "data_offsets": [0, 32]}), "not fully covered"),
    ],
)
def test_broken_safetensors_say_what_is_wrong(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    what = rf"truncated, or not a safetensors file \(.*{message}.*\). Download the model again"
    with pytest.raises(FormatError, match=what):
        read_safetensors(path)


@pytest.mark.usefixtures("neural")
def test_tensors_of_eight_bits_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(header({"dtype": "F8_E4M3", "shape": [16], "data_offsets": [0, 16]}))
    assert read_safetensors(path) == {}


@pytest.mark.usefixtures("neural")
@given(data=st.data())
def test_a_truncated_file_never_gives_tensors(
    tmp_path_factory: pytest.TempPathFactory,
    write_safetensors: Callable[..., bytes],
    data: st.DataObject,
) -> None:
    whole = write_safetensors({"a": BASE, "b": BASE})
    path = tmp_path_factory.mktemp("cut") / "model.safetensors"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(FormatError):
        read_safetensors(path)


def test_names_of_converted_weights_are_brought_up_to_date() -> None:
    one = np.ones(1)
    names = ["bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.beta", "classifier.bias"]
    assert list(with_current_names(dict.fromkeys(names, one), ("bert.",))) == [
        "embeddings.LayerNorm.weight",
        "embeddings.LayerNorm.bias",
        "classifier.bias",
    ]

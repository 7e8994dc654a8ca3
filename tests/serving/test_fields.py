"""What a client sent, however it sent it."""

import asyncio

import pytest
from starlette.requests import Request

from dragoman.serving.fields import Fields, NotJsonError, read_fields
from dragoman.serving.interface import TooLargeError

FORM = "application/x-www-form-urlencoded"


def read(
    body: bytes, kind: str = "application/json", *, query: str = "", most_mb: float = 1.0, method: str = "POST"
) -> Fields:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    scope = {"type": "http", "method": method, "headers": headers, "query_string": query.encode(), "app": None}
    return asyncio.run(read_fields(Request(scope, receive), most_mb))


def test_fields_of_the_body_come_before_those_of_the_address():
    assert read(b'{"a": 1}', query="a=2&b=3&b=4").values == {"a": 1, "b": ["3", "4"]}
    assert read(b"a=%C3%A9&a=", FORM).values == {"a": ["é", ""]}
    assert read(b"a=%FF", "application/octet-stream", query="b=1").values == {"b": "1"}


def test_a_request_without_a_body_may_say_that_it_is_json():
    assert read(b"", method="GET", query="type=target").values == {"type": "target"}


@pytest.mark.parametrize("body", [b"q=caf%E9&source=en", b"q=caf\xe9", b"a=b&" * 10_001])
def test_a_form_that_cannot_be_read_is_not_taken_for_an_empty_one(body: bytes):
    with pytest.raises(NotJsonError, match=r"UTF-8.*10000 fields"):
        read(body, FORM)


def test_texts_are_texts():
    fields = Fields({"one": "a", "many": ["a", "b"], "odd": ["a", 1], "none": [], "number": 5})
    assert [fields.texts(name) for name in ("one", "many", "odd", "none", "x")] == [["a"], ["a", "b"], None, None, None]
    assert [fields.text(name) for name in ("one", "many", "none", "number", "x")] == ["a", "b", "", "", ""]


@pytest.mark.parametrize("body", [b"", b"[1]", b'{"a": "\\udc00"}', b'{"a": 1e999}', b"\xff"])
def test_what_is_no_object_is_refused(body: bytes):
    with pytest.raises(NotJsonError):
        read(body)


def test_files_come_with_forms_and_too_much_is_refused():
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhi\r\n--x--\r\n'
    file = read(form, "multipart/form-data; boundary=x").files["file"]
    assert (file.name, file.content) == ("a.txt", b"hi")
    with pytest.raises(NotJsonError):
        read(form, "multipart/form-data")
    for kind in ("multipart/form-data; boundary=x", "application/json"):
        with pytest.raises(TooLargeError):
            read(form, kind, most_mb=0.00001)

"""The Start page without a browser."""

from tests.pages import view


def test_start_page_has_one_picture_and_three_examples(monkeypatch):
    linked = []
    monkeypatch.setattr(
        "streamlit.page_link", lambda page, **rest: linked.append((page.url_path, rest.get("query_params")))
    )
    at = view("start")
    assert linked[:3] == [(name, {"example": "1"}) for name in ("topics", "risk", "images")]
    sentences = at.markdown[0].value
    assert sentences.count(". ") + sentences.endswith(".") == 3
    (picture,) = [item.proto.body for item in at.get("html") if "<img" in item.proto.body]
    assert picture.count('alt="Records stay behind the wall') == 2  # one for each width
    for name in ("wide", "narrow"):  # and the style that shows one of them comes with them
        assert f".vips-{name}-wall {{ display: none; }}" in picture.partition("</style>")[0]
        assert f'<img class="vips-{name}-wall"' in picture

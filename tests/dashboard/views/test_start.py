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
    assert len(at.get("image")) == 2  # one for each width; the style shows one

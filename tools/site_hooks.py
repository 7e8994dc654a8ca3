"""A MkDocs hook that makes search work where a page is opened from a folder, without a network.

Browsers start no workers for `file:`; Material would fetch a small stand-in from the network. The site brings its own copy.
"""

from posixpath import dirname, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

REMOTE = "https://unpkg.com/iframe-worker/shim"
LOCAL = "assets/iframe-worker.js"


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Return the HTML of a page with the stand-in taken from the site itself."""
    return output.replace(REMOTE, relpath(LOCAL, dirname(page.file.dest_uri) or "."))

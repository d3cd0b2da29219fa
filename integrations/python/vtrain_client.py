"""A client of `vtrain serve` in one file without dependencies, for Python 3.9 and later.

    client = Client("https://vtrain.example:8443", token=open("token").read().strip())
    job = client.submit("gpt3-13b", "300B", deadline="10d", gpus=32)
    print(job["state"], job["reason"] or client.job(job["id"])["forecast"])

Answers are the service's JSON as dictionaries. Its errors are a `Problem`; where there is no answer, an `OSError` is raised.
A request is repeated where no answer comes, and after 429, 502, 503 and 504. No POST is done twice: each has an Idempotency-Key.
"""

import http.client
import json
import random
import time
import uuid
from urllib import error, parse, request


class Problem(Exception):
    """An answer with an error: `status`, `title`, `detail`, and `field`, the part of the request that is wrong, or None."""

    def __init__(self, status, text):
        try:
            document = dict(json.loads(text))
        except (ValueError, TypeError):
            document = {"detail": text[:500]}
        self.status, self.title, self.detail, self.field = (status, *map(document.get, ("title", "detail", "field")))
        super().__init__(f"{status}: " + ": ".join(str(part) for part in (self.field, self.detail or self.title) if part))


class _NoRedirects(request.HTTPRedirectHandler):
    redirect_request = staticmethod(lambda *_: None)  # tokens go to no other address


class Client:
    """`timeout` is for each try, in seconds; `retries` is the number of tries after the first; `context` is an `ssl.SSLContext`."""
    def __init__(self, url="http://127.0.0.1:8080", token=None, timeout=30.0, retries=4, context=None):
        may_be_plain = not token or parse.urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
        if not url.startswith(("https://", "http://") if may_be_plain else "https://"):
            raise ValueError(f"expected https://, or http:// without a token or of this machine, found {url!r}")
        self.url, self.timeout, self.retries = url.rstrip("/"), timeout, retries
        self.headers = {"Accept": "application/json", **({"Authorization": "Bearer " + token} if token else {})}
        self.opener = request.build_opener(_NoRedirects, request.HTTPSHandler(context=context))

    def predict(self, model, plan, **fields):
        return self._ask("POST", "/v1/predict", {"model": model, "plan": plan, **fields})

    def plans(self, **spec):
        return self._ask("POST", "/v1/plans", spec)

    def submit(self, model, tokens, idempotency_key=None, **fields):
        """The job, admitted or refused; with dry_run=True what `vtrain admit --json` says; nothing changes."""
        return self._ask("POST", "/v1/jobs", {"model": model, "tokens": tokens, **fields}, key=idempotency_key)

    def job(self, id):
        return self._ask("GET", f"/v1/jobs/{parse.quote(str(id), safe='')}")

    def jobs(self, **query):
        """All jobs, newest first; state="running" selects, limit=100 is the size of a page."""
        while True:
            page = self._ask("GET", "/v1/jobs?" + parse.urlencode(query))
            yield from page["jobs"]
            if not page["next"]:
                return
            query["cursor"] = page["next"]

    def progress(self, id, fraction):
        return self._ask("POST", f"/v1/jobs/{parse.quote(str(id), safe='')}/progress", {"fraction": fraction})

    def completion(self, id, state="completed"):
        return self._ask("POST", f"/v1/jobs/{parse.quote(str(id), safe='')}/completion", {"state": state})

    def cancel(self, id):
        return self._ask("DELETE", f"/v1/jobs/{parse.quote(str(id), safe='')}")

    def cluster(self):
        return self._ask("GET", "/v1/cluster")

    def eta(self, job=None):
        return self._ask("GET", "/v1/eta" + ("?" + parse.urlencode({"job": job}) if job else ""))

    def _ask(self, method, path, body=None, key=None):
        post = {"Content-Type": "application/json", "Idempotency-Key": key or str(uuid.uuid4())} if method == "POST" else {}
        data = None if body is None else json.dumps(body).encode()
        for attempt in range(self.retries + 1):
            wait = random.uniform(0.125, 0.25) * 2**attempt
            try:
                question = request.Request(self.url + path, data, {**self.headers, **post}, method=method)
                with self.opener.open(question, timeout=self.timeout) as response:
                    return json.load(response)
            except error.HTTPError as answer:
                failure = Problem(answer.code, answer.read(65536).decode(errors="replace"))
                asked = answer.headers.get("Retry-After", "")
                wait = max(wait, int(asked) if asked.isdigit() else 0)
            except (OSError, http.client.HTTPException) as reason:
                failure = reason if isinstance(reason, OSError) else ConnectionError(repr(reason))
            if attempt == self.retries or wait > 60 or getattr(failure, "status", 503) not in (429, 502, 503, 504):
                raise failure
            time.sleep(wait)

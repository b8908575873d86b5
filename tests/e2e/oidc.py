# SPDX-License-Identifier: Apache-2.0
"""Logins by OAUTHBEARER with OIDC: a small token server issues signed tokens, and the broker checks them."""
from __future__ import annotations

import base64
import json
import os
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from archive import SHORT_LIVED
from processes import Bridge, newer_client
from secured import EXACTLY, RUN, Fortress, delivers, end, setting
from stage import Stage, both_modes, judge, require, will_say

TOKEN_S = 10      # life of a token; the client renews it at 80 %
AUDIENCE, ISSUER, SCOPE, KEY_ID = "kafka", "http://issuer.example", "records", "1"
PORT_UP = 31      # of the token server, above the broker's port


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenServer:
    """Issues RS256 tokens by client credentials at /token, and shows its public key at /jwks."""

    def __init__(self, folder: Path, port: int, secrets: dict[str, str]):
        self.folder, self.port, self.secrets = folder, port, secrets
        self.issued, self.refused = 0, 0
        self.server: ThreadingHTTPServer | None = None
        self.openssl("genrsa", "-out", "token.key", "2048")

    def openssl(self, *args: str, data: bytes | None = None) -> bytes:
        return subprocess.run(["openssl", *args], cwd=self.folder, input=data, capture_output=True, check=True).stdout

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def keys(self) -> dict:
        modulus = self.openssl("rsa", "-in", "token.key", "-noout", "-modulus").decode().strip().split("=")[1]
        return {"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_ID, "n": encoded(bytes.fromhex(modulus)),
                          "e": encoded(b"\x01\x00\x01")}]}

    def token(self, user: str) -> str:
        now = int(time.time())
        head = {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}
        claims = {"sub": user, "aud": AUDIENCE, "iss": ISSUER, "scope": SCOPE, "iat": now, "exp": now + TOKEN_S}
        text = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
        return f"{text}.{encoded(self.openssl('dgst', '-sha256', '-sign', 'token.key', data=text.encode()))}"

    def answer(self, credentials: str) -> tuple[int, dict]:
        """Answers a request for a token by the credentials of its Authorization header."""
        user, _, secret = base64.b64decode(credentials.removeprefix("Basic ")).decode().partition(":")
        if self.secrets.get(user) != secret:
            self.refused += 1
            return 401, {"error": "invalid_client"}
        self.issued += 1
        return 200, {"access_token": self.token(user), "token_type": "Bearer", "expires_in": TOKEN_S, "scope": SCOPE}

    def start(self) -> None:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:  # pylint: disable=arguments-differ
                pass

            def reply(self, code: int, body: dict) -> None:
                text = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self) -> None:  # pylint: disable=invalid-name
                self.reply(200, issuer.keys())

            def do_POST(self) -> None:  # pylint: disable=invalid-name
                self.rfile.read(int(self.headers["Content-Length"]))
                self.reply(*issuer.answer(self.headers["Authorization"]))

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self.server:
            self.server.shutdown()
            self.server.server_close()


class Issued(Fortress):
    """A broker that also accepts tokens of the server."""

    def props(self) -> tuple[str, ...]:
        self.issuer = TokenServer(self.folder, self.port + PORT_UP, self.secrets)
        self.issuer.start()
        os.environ["KAFKA_JVM"] = (f"{os.environ.get('KAFKA_JVM', SHORT_LIVED)} "
                                   f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.issuer.url('jwks')}")
        module, of_listener = "org.apache.kafka.common.security.oauthbearer", "listener.name.sasl.oauthbearer"
        props = tuple(f"{prop},OAUTHBEARER" if prop.startswith("sasl.enabled.mechanisms=") else prop for prop in super().props())
        return (*props, f"{of_listener}.sasl.jaas.config={module}.OAuthBearerLoginModule required;",
                f"{of_listener}.sasl.server.callback.handler.class={module}.OAuthBearerValidatorCallbackHandler",
                f"{of_listener}.sasl.oauthbearer.jwks.endpoint.url={self.issuer.url('jwks')}",
                f"{of_listener}.sasl.oauthbearer.expected.audience={AUDIENCE}",
                f"{of_listener}.sasl.oauthbearer.expected.issuer={ISSUER}")

    def tokens(self, secret: str | None = None) -> dict:
        """Returns the configuration of docs/security.md."""
        return {"bootstrap.servers": f"127.0.0.1:{self.port + 1}", "security.protocol": "SASL_SSL",
                "ssl.ca.location": f"{self.folder}/ca.crt", "sasl.mechanisms": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.token.endpoint.url": self.issuer.url("token"),
                "sasl.oauthbearer.client.id": "bridge", "sasl.oauthbearer.scope": SCOPE,
                "sasl.oauthbearer.client.secret": secret or {"file": str(self.folder / "bridge.password")}}


def refused(stage: Stage, login: dict, *words: str) -> None:
    path = stage.config("refused.yaml", kafka=login)
    for command in ("check", "run"):
        done = stage.run(command, "-c", str(path), timeout=40)
        said = done.stdout + done.stderr
        require(done.returncode == 78 and all(word in said for word in words),
                f"{command} ended with {done.returncode}, not all of {words}:\n{said[-800:]}")
        require("not-the-secret" not in said, f"{command} prints the secret")


def oidc(stage: Stage) -> str:
    """OAUTHBEARER with OIDC over TLS, with a librdkafka that supports it: tokens are renewed, a refusal exits 78."""
    fortress = setting(stage, Issued)
    issuer, login = fortress.issuer, fortress.tokens()
    fortress.allow("bridge", RUN + (EXACTLY if stage.exactly_once else []))
    if "LD_LIBRARY_PATH" not in os.environ:
        if stage.run("check", "-c", str(stage.config("system.yaml", kafka=login))).returncode != 0:
            refused(stage, login, "OIDC")  # Debian 12
        os.environ["LD_LIBRARY_PATH"] = newer_client()
    config = stage.config(kafka=login)
    bridge = delivers(stage, fortress, config, "tokens")
    first = issuer.issued
    generator = stage.generator(2500)
    stage.background(lambda n, now: generator.request(now), 50 * TOKEN_S * 2, 50).finish()
    judge(stage.verify(timeout=40))
    require(bridge.running() and issuer.issued > first, f"no token was renewed after {first}:\n{bridge.tail()}")
    end(bridge)
    refused(stage, fortress.tokens("not-the-secret"), "the login was refused (bridge by OAUTHBEARER)", "invalid_client")
    require(issuer.refused > 0, "the token server saw no wrong secret")
    renewed = issuer.issued - first
    issuer.stop()
    late = Bridge(stage.binary, config, "late").start()
    will_say(late, "waiting for Kafka", 40)
    time.sleep(2)
    require(late.running(), f"the bridge did not wait for the token server:\n{late.tail()}")
    issuer.start()
    will_say(late, "lanes assigned", 60)
    end(late)
    version = stage.run("version").stdout.rsplit("librdkafka ", 1)[1].strip()
    return f"{judge(stage.verify())} tokens={issuer.issued} renewed={renewed} with librdkafka {version}"


SCENARIOS = both_modes(oidc)
ON_DEMAND = set(SCENARIOS)

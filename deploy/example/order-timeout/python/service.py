# SPDX-License-Identifier: Apache-2.0
"""The shop: POST /orders, POST /orders/N/payment, GET /orders/N."""
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from psycopg_pool import ConnectionPool

from orders import SoldOut, create_order, open_order, pay_order

POOL = ConnectionPool(os.environ["DATABASE"], min_size=2, max_size=16, open=True,
                      kwargs={"autocommit": True})


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
        with POOL.connection() as database:
            match self.path.split("/"):
                case ["", "orders"]:
                    try:
                        self.answer(201, {"order": create_order(database, body["product"], body["quantity"])})
                    except SoldOut:
                        self.answer(409, {"error": "sold out"})
                case ["", "orders", order, "payment"]:
                    paid = pay_order(database, int(order))
                    self.answer(200 if paid else 409, {"paid": paid})
                case _:
                    self.answer(404, {})

    def do_GET(self):
        with POOL.connection() as database:
            state = open_order(database, int(self.path.rpartition("/")[2]))
        self.answer(200 if state else 404, {"state": state})

    def answer(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_request(self, code="-", size="-"):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()

// SPDX-License-Identifier: Apache-2.0
package shop;

import java.util.Map;
import org.springframework.context.annotation.Profile;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** The shop: POST /orders, POST /orders/N/payment, GET /orders/N. */
@RestController
@Profile("service")
class OrderController {
    record NewOrder(String product, int quantity) {}

    private final Orders orders;

    OrderController(Orders orders) {
        this.orders = orders;
    }

    @PostMapping("/orders")
    @ResponseStatus(HttpStatus.CREATED)
    Map<String, Long> create(@RequestBody NewOrder order) {
        return Map.of("order", orders.create(order.product, order.quantity));
    }

    @PostMapping("/orders/{order}/payment")
    ResponseEntity<Map<String, Boolean>> pay(@PathVariable long order) {
        boolean paid = orders.pay(order);
        return ResponseEntity.status(paid ? HttpStatus.OK : HttpStatus.CONFLICT).body(Map.of("paid", paid));
    }

    @GetMapping("/orders/{order}")
    ResponseEntity<Map<String, String>> open(@PathVariable long order) {
        return ResponseEntity.of(orders.open(order).map(state -> Map.of("state", state)));
    }

    @ExceptionHandler(Orders.SoldOut.class)
    @ResponseStatus(HttpStatus.CONFLICT)
    void soldOut() {}
}

import Synchronization
import Testing
import TrackingRuntime

@testable import godwit_agent

/// Where what is read goes while publishers come and go.
@Suite struct OutletTests {
    /// Writes down what it is given, and by whom.
    private final class Taker: Sendable {
        private let taken = Mutex<[String]>([])
        func take(_ what: String) { self.taken.withLock { $0.append(what) } }
        var all: [String] { self.taken.withLock { $0 } }
    }

    private func hand(_ what: String, to outlet: Outlet<Taker>) async {
        await outlet.hand { taker, receipt in
            taker.take(what)
            receipt.resume()
        }
    }

    @Test(.timeLimit(.minutes(5))) func nothingIsLostBetweenTwoPublishers() async {
        let outlet = Outlet<Taker>()
        let (first, second) = (Taker(), Taker())
        async let waiting: Void = self.hand("a", to: outlet)
        outlet.open(first)
        await waiting
        await self.hand("b", to: outlet)
        outlet.close()
        #expect(outlet.publisher == nil)
        async let next: Void = self.hand("c", to: outlet)
        // Whichever is first: what is handed over goes to the second alone.
        outlet.open(second)
        await next
        #expect(first.all == ["a", "b"] && second.all == ["c"])
    }

    @Test(.timeLimit(.minutes(5))) func whoWaitsIsLetGoAtTheEnd() async {
        let outlet = Outlet<Taker>()
        async let waiting: Void = self.hand("a", to: outlet)
        outlet.end()
        await waiting
        let late = Taker()
        outlet.open(late)
        await self.hand("b", to: outlet)
        #expect(late.all.isEmpty)
    }
}

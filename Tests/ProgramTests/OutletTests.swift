import Synchronization
import Testing
import TrackingRuntime

@testable import godwit_agent

/// The delivery of fixes while publishers are replaced.
@Suite struct OutletTests {
    /// A publisher that records the delivered values.
    private final class Taker: Sendable {
        private let taken = Mutex<[String]>([])
        func take(_ what: String) { self.taken.withLock { $0.append(what) } }
        var all: [String] { self.taken.withLock { $0 } }
    }

    private func deliver(_ what: String, to outlet: Outlet<Taker>) async {
        await outlet.deliver { taker, receipt in
            taker.take(what)
            receipt.resume()
        }
    }

    @Test(.timeLimit(.minutes(5))) func nothingIsLostBetweenTwoPublishers() async {
        let outlet = Outlet<Taker>()
        let (first, second) = (Taker(), Taker())
        async let waiting: Void = self.deliver("a", to: outlet)
        outlet.open(first)
        await waiting
        await self.deliver("b", to: outlet)
        outlet.close()
        #expect(outlet.publisher == nil)
        async let next: Void = self.deliver("c", to: outlet)
        // The value goes to the second publisher alone, whichever of the two calls comes first.
        outlet.open(second)
        await next
        #expect(first.all == ["a", "b"] && second.all == ["c"])
    }

    @Test(.timeLimit(.minutes(5))) func waitingCallersReturnAtTheEnd() async {
        let outlet = Outlet<Taker>()
        async let waiting: Void = self.deliver("a", to: outlet)
        outlet.end()
        await waiting
        let late = Taker()
        outlet.open(late)
        await self.deliver("b", to: outlet)
        #expect(late.all.isEmpty)
    }
}

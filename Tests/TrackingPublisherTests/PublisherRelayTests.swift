import Synchronization
import Testing
import TrackingPublisher
import TrackingRuntime

/// The delivery of fixes while publishers are replaced.
@Suite struct PublisherRelayTests {
    /// A publisher that records the delivered values.
    private final class Taker: Sendable {
        private let taken = Mutex<[String]>([])
        func take(_ what: String) { self.taken.withLock { $0.append(what) } }
        var all: [String] { self.taken.withLock { $0 } }
    }

    private func deliver(_ what: String, to relay: PublisherRelay<Taker>) async {
        await relay.deliver { taker, receipt in
            taker.take(what)
            receipt.resume()
        }
    }

    @Test(.timeLimit(.minutes(5))) func nothingIsLostBetweenTwoPublishers() async {
        let relay = PublisherRelay<Taker>()
        let (first, second) = (Taker(), Taker())
        async let waiting: Void = self.deliver("a", to: relay)
        relay.connect(to: first)
        await waiting
        await self.deliver("b", to: relay)
        relay.disconnect()
        #expect(relay.publisher == nil)
        async let next: Void = self.deliver("c", to: relay)
        // The value goes to the second publisher alone, whichever of the two calls comes first.
        relay.connect(to: second)
        await next
        #expect(first.all == ["a", "b"] && second.all == ["c"])
    }

    @Test(.timeLimit(.minutes(5))) func waitingCallersReturnAtTheEnd() async {
        let relay = PublisherRelay<Taker>()
        async let waiting: Void = self.deliver("a", to: relay)
        relay.finish()
        await waiting
        let late = Taker()
        relay.connect(to: late)
        await self.deliver("b", to: relay)
        #expect(late.all.isEmpty)
    }
}

import Testing

@testable import TrackingCore

@Suite struct RequestLimiterTests {
    private let van: TrackableID
    private let sender: RequestLimiter.Sender

    init() throws {
        self.van = try TrackableID("van")
        self.sender = RequestLimiter.Sender(trackable: self.van, client: try ClientID("w1"))
    }

    private func at(_ milliseconds: Int) -> MonotonicTime { MonotonicTime(.milliseconds(milliseconds)) }

    private func sender(_ number: Int) throws -> RequestLimiter.Sender {
        RequestLimiter.Sender(trackable: self.van, client: try ClientID("client-\(number)"))
    }

    @Test func aBurstTakesEffectAtOnceAndTheLatestOfTheRestWaits() {
        var limiter = RequestLimiter()
        for number in UInt8(1)...5 {
            #expect(limiter.received([number], from: self.sender, now: self.at(10000)) == true)
        }
        for number in UInt8(6)...200 {
            #expect(limiter.received([number], from: self.sender, now: self.at(10000)) == false)
        }
        #expect(limiter.nextDeadline == self.at(10_200))
        #expect(limiter.takeDue(now: self.at(10100)).isEmpty)
        #expect(limiter.takeDue(now: self.at(10200)).map(\.payload) == [[200]])
        #expect(limiter.nextDeadline == nil)
        // One more request is available every 200 ms, and the whole burst after a second.
        #expect(limiter.received([7], from: self.sender, now: self.at(10300)) == false)
        #expect(limiter.takeDue(now: self.at(10400)).map(\.payload) == [[7]])
        for _ in 0..<5 { #expect(limiter.received([8], from: self.sender, now: self.at(12000)) == true) }
        #expect(limiter.received([8], from: self.sender, now: self.at(12000)) == false)
    }

    @Test func anEmptyPayloadWaitsInItsPlaceToo() {
        var limiter = RequestLimiter()
        for _ in 0..<5 { _ = limiter.received([1], from: self.sender, now: self.at(1000)) }
        _ = limiter.received([2], from: self.sender, now: self.at(1000))
        _ = limiter.received([], from: self.sender, now: self.at(1000))
        #expect(limiter.takeDue(now: self.at(2000)).map(\.payload) == [[]])
    }

    @Test func eachClientHasALimitOfItsOwn() throws {
        var limiter = RequestLimiter()
        for _ in 0..<10 { _ = limiter.received([1], from: self.sender, now: self.at(1000)) }
        #expect(limiter.received([1], from: try self.sender(2), now: self.at(1000)) == true)
        let bike = RequestLimiter.Sender(trackable: try TrackableID("bike"), client: self.sender.client)
        #expect(limiter.received([1], from: bike, now: self.at(1000)) == true)
    }

    @Test func memoryIsBoundedAndSendersAreForgotten() throws {
        var limiter = RequestLimiter(capacity: 100)
        for number in 0..<100 {
            #expect(limiter.received([1], from: try self.sender(number), now: self.at(1000)) == true)
        }
        // More senders than the bound have no limit, so that none of them loses its first request.
        for _ in 0..<10 { #expect(limiter.received([1], from: try self.sender(100), now: self.at(1000)) == true) }
        let known = try (0..<5).map { _ in limiter.received([1], from: try self.sender(5), now: self.at(1000)) }
        #expect(known == [true, true, true, true, false])
        #expect(limiter.count == 100)
        _ = limiter.takeDue(now: self.at(1500))
        #expect(limiter.received([1], from: try self.sender(101), now: self.at(3000)) == true)
        #expect(limiter.count == 1)
        for _ in 0..<9 { _ = limiter.received([1], from: try self.sender(101), now: self.at(3000)) }
        limiter.forget(self.van)
        #expect(limiter.count == 0 && limiter.nextDeadline == nil)
    }

    @Test func aFloodHasAnEffectFiveTimesASecond() {
        var limiter = RequestLimiter()
        var (applied, now) = (0, MonotonicTime(.zero))
        for _ in 0..<20_000 {
            now = now.advanced(by: .microseconds(500))
            if limiter.received([1], from: self.sender, now: now) { applied += 1 }
            applied += limiter.takeDue(now: now).count
        }
        #expect((50...55).contains(applied), "10 s")
    }
}

import Testing
import TrackingCore
import TrackingRecorder

@testable import godwit

/// The conditions of `/readyz` of a recorder.
@Suite struct RecorderReadinessTests {
    private func reason(after events: RecorderEvent...) -> String? {
        var readiness = RecorderReadiness()
        for event in events { readiness.happened(event, now: .now) }
        return readiness.shareReason
    }

    @Test func aRecorderThatReceivesNothingIsNotReady() {
        #expect(self.reason(after: .shareUndelivered(isAlone: false))?.contains("receives nothing") == true)
    }

    @Test func aRecorderIsReadyOnceItsGroupWorksAgain() {
        #expect(self.reason(after: .shareUndelivered(isAlone: false), .shareDelivered) == nil)
    }

    @Test func aRecorderThatReceivesEverythingItselfIsReady() {
        #expect(self.reason(after: .shareUndelivered(isAlone: true)) == nil)
        #expect(self.reason(after: .shareUndelivered(isAlone: false), .shareUndelivered(isAlone: true)) == nil)
    }

    @Test func aWaitingRecorderIsReadyWithoutABroker() {
        var readiness = RecorderReadiness()
        readiness.isWaiting = true
        #expect(readiness.brokerReason == nil)
        readiness.isWaiting = false
        #expect(readiness.brokerReason != nil)
    }

    @Test func theOtherConditionsFollowTheirEvents() {
        let start = ContinuousClock.now
        var readiness = RecorderReadiness()
        #expect(readiness.brokerReason != nil && readiness.historyReason == nil)
        readiness.happened(.connected(sessionPresent: true), now: start)
        readiness.happened(.storeAway(TrackingError(.storeFailed, "away"), retry: nil), now: start)
        readiness.happened(.brokerDropped(3), now: start)
        #expect(readiness.brokerReason == nil && readiness.historyReason != nil)
        #expect(readiness.queuesReason(now: start) != nil)
        #expect(readiness.queuesReason(now: start.advanced(by: RecorderReadiness.dropMemory)) == nil)
        readiness.happened(.storeBack(after: .seconds(1)), now: start)
        #expect(readiness.historyReason == nil)
    }
}

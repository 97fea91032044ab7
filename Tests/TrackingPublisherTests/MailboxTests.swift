import Testing
import TrackingRuntime

/// Tests for the mailbox, the only way into the task of a state machine.
@Suite(.timeLimit(.minutes(5))) struct MailboxTests {
    /// Takes out the events until `last`, and resumes each waiting sender.
    private static func read(_ mailbox: Mailbox<Int>, through last: Int) async -> [Int] {
        var inbox = Inbox(mailbox)
        var read: [Int] = []
        while let envelope = await inbox.next() {
            read.append(envelope.event)
            envelope.receipt?.resume()
            if envelope.event == last { break }
        }
        inbox.close()
        return read
    }

    @Test func eventsAreTakenInTheOrderOfPosting() async {
        let mailbox = Mailbox<Int>()
        let count = 3 * Mailbox<Int>.stride + 7
        async let read = Self.read(mailbox, through: count)
        for number in 1..<10 { mailbox.post(number) }
        await mailbox.postAndWait(Array(10...count)) { $0 }
        #expect(await read == Array(1...count))
    }

    @Test func aWaitEndsWhenTheEventWasProcessed() async {
        let mailbox = Mailbox<Int>()
        async let read = Self.read(mailbox, through: 2)
        await mailbox.postAndWait(1)
        mailbox.post(2)
        #expect(await read == [1, 2])
    }

    @Test func waitsInAnUnfinishedBatchEnd() async {
        let mailbox = Mailbox<Int>()
        let count = 2 * Mailbox<Int>.stride
        async let read = Self.read(mailbox, through: 1)
        await mailbox.postAndWait(Array(1...count)) { $0 }
        #expect(await read == [1])
    }

    @Test func aClosedMailboxHoldsNobody() async {
        let mailbox = Mailbox<Int>()
        mailbox.post(1)
        mailbox.close()
        await mailbox.postAndWait(2)
        #expect(await Self.read(mailbox, through: 2) == [])
    }

    @Test func aCancelledReaderGetsWhatWaitsAndThenTheEnd() async {
        let mailbox = Mailbox<Int>()
        let reader = Task { await Self.read(mailbox, through: 3) }
        await mailbox.postAndWait(1)
        reader.cancel()
        #expect(await reader.value == [1])
        await mailbox.postAndWait(2)
    }
}

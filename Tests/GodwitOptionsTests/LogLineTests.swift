import Foundation
import Logging
import Testing

@testable import GodwitOptions

/// The lines of the log.
@Suite struct LogLineTests {
    private func line(_ message: String, _ metadata: Logger.Metadata = [:], level: Logger.Level = .warning) -> LogLine {
        LogLine(level: level, label: "godwit", message: message, metadata: metadata)
    }

    private let time = "2026-11-25T18:42:36+0000"

    @Test func theMessageComesBeforeTheMetadata() {
        let line = self.line(
            "Broker refused publish", ["trackable": "van-7", "reason": "Not authorized (0x87)", "session kept": "true"])
        #expect(
            line.text(.plain, at: self.time)
                == """
                2026-11-25T18:42:36+0000 warning godwit: Broker refused publish \
                reason="Not authorized (0x87)" session-kept=true trackable=van-7

                """)
    }

    @Test func theJournalGetsTheLevelAsANumberAndNoTime() {
        let numbers: [Logger.Level] = [.critical, .error, .warning, .notice, .info, .debug, .trace]
        #expect(
            numbers.map { self.line("Started", level: $0).text(.journal, at: self.time) }
                == ["2", "3", "4", "5", "6", "7", "7"].map { "<\($0)>godwit: Started\n" })
    }

    @Test func aValueCannotEndTheLineOrItsQuotationMarks() {
        let line = self.line("Bad name", ["name": "a\"b\\ \nwarning godwit: forged", "empty": ""])
        #expect(
            line.text(.journal, at: "")
                == #"<4>godwit: Bad name empty="" name="a\"b\\ \u000awarning godwit: forged""# + "\n")
    }

    @Test func onlyAConnectionToTheJournalGetsItsForm() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        let descriptor = open(path, O_CREAT | O_RDWR, 0o600)
        defer {
            close(descriptor)
            unlink(path)
        }
        var status = stat()
        try #require(fstat(descriptor, &status) == 0)
        let stream = "\(status.st_dev):\(status.st_ino)"
        #expect(LogLine.Form.of(descriptor, ["JOURNAL_STREAM": stream]) == .journal)
        #expect(LogLine.Form.of(descriptor, ["JOURNAL_STREAM": "1:2"]) == .plain)
        #expect(LogLine.Form.of(descriptor, [:]) == .plain)
    }

    @Test func theTimeHasItsZone() {
        #expect(TimeText.zoned(TimeText.now).wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}/#) != nil)
    }
}

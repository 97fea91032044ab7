import Foundation
import TrackingCore
import TrackingSpool

/// Appends records to a log until it is killed, and prints the number of each one after its append has returned.
///
/// `spool-writer FILE SIZE`: the path of the log, and the size of a record in bytes.
@main struct SpoolWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let size = Int(arguments[2]) else { exit(64) }
        let log = SQLiteSpool(path: arguments[1])
        let contents = try await log.open(now: UnixTime(Date().timeIntervalSince1970))
        var random = SystemRandomNumberGenerator()
        let (trackable, stream) = (try TrackableID("van"), StreamID.random(using: &random))
        report("opened with \(contents.trackables[trackable]?.streams.count ?? 0) streams")
        // Some records are appended one by one, as by a publisher that is connected, and some together.
        await withTaskGroup(of: Void.self) { group in
            for writer in UInt64(0)..<4 {
                group.addTask {
                    var seq = writer + 1
                    while true {
                        let record = SpoolRecord(
                            seq: seq, time: UnixTime(Double(seq)), kind: .point,
                            payload: [UInt8](repeating: UInt8(truncatingIfNeeded: seq), count: size))
                        do throws(TrackingError) {
                            try await log.append([SpoolEntry(record, of: trackable, in: stream)], state: [:])
                            report("\(stream) \(seq)")
                        } catch {
                            report("failed \(seq) \(error.code)")
                        }
                        seq += 4
                    }
                }
            }
        }
    }

    private static func report(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}

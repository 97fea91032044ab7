import Foundation
import TestSupport
import TrackingCore
import TrackingHistory

/// The complete text of a history in a format.
func written(_ points: [Location], _ format: HistoryFormat, of name: String = "van-7") throws -> String {
    var writer = HistoryWriter(format, of: try TrackableID(name))
    var bytes = writer.begin()
    for point in points { bytes += writer.append(point) }
    return String(decoding: bytes + writer.finish(), as: UTF8.self)
}

/// The events of a reader for a file.
func read(
    _ pieces: [ArraySlice<UInt8>], _ format: HistoryReader.Format
) -> (events: [SourceEvent], failure: TrackingError?) {
    var reader = HistoryReader(format)
    let events = pieces.flatMap { reader.append($0) } + reader.finish()
    return (events, reader.failure)
}

func read(_ text: String, _ format: HistoryReader.Format) -> (events: [SourceEvent], failure: TrackingError?) {
    read([Array(text.utf8)[...]], format)
}

extension [SourceEvent] {
    var fixes: [Location] { self.compactMap { if case .fix(let location) = $0 { location } else { nil } } }
    var refusals: [String] { self.compactMap { if case .badInput(let text) = $0 { text } else { nil } } }
}

/// Passes a text to a program as a file, and returns its output.
///
/// - Parameter arguments: The arguments; `FILE` is replaced by the file's path.
func output(
    of program: String, package: String, _ arguments: [String], file text: String, named name: String
) async throws -> String {
    let path = try GPSDProcess.find(program, package: package)
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-history-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: name)
    try text.write(to: file, atomically: false, encoding: .utf8)
    let output = folder.appending(path: "output.txt")
    let child = try ChildProcess(
        path, arguments.map { $0.replacing("FILE", with: file.path()) }, output: output.path())
    let status = try await child.waitForEnd(within: .seconds(60))
    let printed = try String(contentsOf: output, encoding: .utf8)
    guard status == 0 else { throw TestSupportError("\(program) failed: \(printed)") }
    return printed
}

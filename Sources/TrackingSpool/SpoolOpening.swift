import Foundation
import GRDB
import TrackingCore

/// Opens a log, whatever state it is in.
struct SpoolOpening {
    let path: String
    let checkedSize: Int64
    let now: UnixTime

    /// Notes beside the log that it is to be salvaged when it is opened the next time.
    static func wantSalvage(of path: String) {
        _ = FileManager.default.createFile(atPath: path + ".salvage", contents: nil)
    }

    func run() throws -> (SpoolFile, SpoolContents) {
        let isOrderly = ClosingMark(log: self.path).take()
        let file = try SpoolFile(path: self.path, isOrderly: isOrderly, checkedSize: self.checkedSize)
        let state = try file.loadState()
        return (file, SpoolContents(trackables: file.book.trackables, state: state))
    }
}

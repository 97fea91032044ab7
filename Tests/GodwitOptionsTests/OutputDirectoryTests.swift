import Foundation
import Testing
import TrackingCore

@testable import GodwitOptions

/// The files of an export to a directory, and their effect on existing files.
@Suite final class OutputDirectoryTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-output-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    private func text(_ name: String) throws -> String {
        try String(contentsOf: self.folder.appending(path: name), encoding: .utf8)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: self.folder.path()).sorted() }
    }

    private func write(_ pieces: [(name: String, text: String)], isFinished: Bool = true) throws {
        let directory = try OutputDirectory(self.folder.path())
        for piece in pieces {
            try directory.select(piece.name, header: Array("head\n".utf8))
            try directory.write(Array(piece.text.utf8))
        }
        #expect(directory.count == Set(pieces.map(\.name)).count)
        if isFinished { try directory.finish() }
    }

    @Test func aFileThatIsSelectedAgainGetsFurtherBytesAndNoSecondHeader() throws {
        try self.write([("a", "1\n"), ("a", "2\n"), ("b", "3\n"), ("a", "4\n"), ("b", "5\n")])
        #expect(try self.names == ["a", "b"])
        #expect(try self.text("a") == "head\n1\n2\n4\n" && self.text("b") == "head\n3\n5\n")
        let rights = try FileManager.default.attributesOfItem(atPath: self.folder.appending(path: "a").path())
        #expect(rights[.posixPermissions] as? Int == 0o600)
    }

    @Test func theFilesAreReplacedOnceAllAreComplete() throws {
        try self.write([("a", "old"), ("b", "old")])
        try self.write([("b", "new"), ("c", "new")], isFinished: false)
        #expect(try self.names == ["a", "b"] && self.text("b") == "head\nold")
        try self.write([("b", "new"), ("c", "new")])
        #expect(try self.names == ["a", "b", "c"])
        #expect(try self.text("a") == "head\nold" && self.text("b") == "head\nnew")
    }

    @Test func aLinkToADirectoryIsOne() throws {
        try self.write([("a", "first")])
        let link = self.folder.path() + "-link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: self.folder.path())
        defer { try? FileManager.default.removeItem(atPath: link) }
        let directory = try OutputDirectory(link)
        try directory.select("b", header: [])
        try directory.finish()
        #expect(try self.names == ["a", "b"])
    }

    @Test func aFileAndAMissingParentAreErrorsThatNameThem() throws {
        try self.write([("a", "1")])
        for (path, cause) in [("a", "Not a directory"), ("none/days", "No such file or directory")] {
            let path = self.folder.appending(path: path).path()
            #expect { try OutputDirectory(path) } throws: {
                ($0 as? TrackingError)?.message.hasPrefix("cannot write '\(path)': \(cause)") == true
            }
        }
    }

    @Test func theNumberOfFilesHasALimit() throws {
        let directory = try OutputDirectory(self.folder.path(), maximumFiles: 2)
        for name in ["a", "b", "a"] { try directory.select(name, header: []) }
        #expect { try directory.select("c", header: []) } throws: {
            ($0 as? TrackingError)?.message.contains("more than 2 files") == true
        }
    }
}

import Foundation
import Testing
import TrackingCore

@testable import GodwitOptions

/// The output of an export, and its effect on existing files.
@Suite final class OutputFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-output-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    private func path(_ name: String) -> String { self.folder.appending(path: name).path() }

    private func write(_ text: String, to path: String) throws {
        let file = try OutputFile(path)
        try file.write(Array(text.utf8))
        try file.finish()
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: self.folder.path()).sorted() }
    }

    @Test func aFileIsReplacedOnceAllIsWritten() throws {
        try self.write("first", to: self.path("a"))
        do {
            let file = try OutputFile(self.path("a"))
            try file.write(Array("half".utf8))
        }
        #expect(try String(contentsOfFile: self.path("a"), encoding: .utf8) == "first")
        try self.write("second", to: self.path("a"))
        #expect(try String(contentsOfFile: self.path("a"), encoding: .utf8) == "second")
        #expect(try self.names == ["a"])
    }

    @Test(arguments: [true, false]) func aLinkStaysALink(isThere: Bool) throws {
        let target = self.path("target")
        if isThere { try "old".write(toFile: target, atomically: false, encoding: .utf8) }
        try FileManager.default.createSymbolicLink(atPath: self.path("b"), withDestinationPath: "target")
        try FileManager.default.createSymbolicLink(atPath: self.path("a"), withDestinationPath: self.path("b"))
        try self.write("new", to: self.path("a"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: self.path("a")) == self.path("b"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: self.path("b")) == "target")
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "new")
        #expect(try self.names == ["a", "b", "target"])
    }

    @Test func aPipeIsWrittenInto() throws {
        let pipe = self.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        try self.write("through", to: pipe)
        #expect(Self.read(reader) == "through")
        var status = stat()
        #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        #expect(try self.names == ["pipe"])
    }

    /// A descriptor as a shell passes it for `>(…)`.
    @Test(arguments: ["/dev/fd/", "/proc/self/fd/"]) func aDescriptorIsWrittenInto(folder: String) throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        try self.write("through", to: "\(folder)\(ends[1])")
        #expect(Self.read(ends[0]) == "through")
    }

    /// A device made by the test, if that is permitted.
    @Test func aDeviceStaysADevice() throws {
        let device = self.path("null")
        guard mknod(device, S_IFCHR | 0o666, dev_t(0x103)) == 0 else { return }
        try self.write("nowhere", to: device)
        var status = stat()
        #expect(lstat(device, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
        #expect(try self.names == ["null"])
    }

    @Test func aFolderIsSaidToBeOne() throws {
        for path in [self.folder.path(), self.folder.path() + "/"] {
            #expect { try OutputFile(path) } throws: { "\($0)".contains("Is a directory") }
        }
        #expect(try self.names == [])
    }

    private static func read(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Foundation.read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

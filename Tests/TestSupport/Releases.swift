public import Foundation

/// The databases that each release wrote, which every later one opens: `Tests/Releases`.
///
/// `scripts/write-release` adds those of the version that the program writes now; a file that is there is never written again.
public enum Releases {
    /// Whether they are to be written now.
    public static let areWritten = ProcessInfo.processInfo.environment["GODWIT_WRITE_RELEASE"] == "1"

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Releases")

    /// The file of one version.
    public static func file(_ name: String, version: Int) -> URL {
        self.folder.appending(path: "\(name)-\(version).sqlite")
    }

    /// The files of all versions, the oldest first.
    public static func files(_ name: String, through version: Int) throws -> [URL] {
        let files = (1...version).map { self.file(name, version: $0) }
        for file in files where !FileManager.default.fileExists(atPath: file.path()) {
            throw TestSupportError("\(file.path()) is missing: scripts/write-release makes that of this version")
        }
        return files
    }
}

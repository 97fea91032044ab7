public import Foundation

/// The recordings of positions that several projects share, outside of this repository.
public enum Tracks {
    struct Missing: Error {}

    /// The folder of the recordings: `GODWIT_TRACKS`, or `shared/tracks` beside the package's folder; `nil` if neither
    /// exists.
    public static let folder: URL? = {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let named = ProcessInfo.processInfo.environment["GODWIT_TRACKS"].map { URL(fileURLWithPath: $0) }
        let candidate = named ?? package.deletingLastPathComponent().appendingPathComponent("shared/tracks")
        return FileManager.default.fileExists(atPath: candidate.path) ? candidate : nil
    }()

    /// Returns the path of the recording with this file name. Throws if there is no folder of recordings.
    public static func path(_ name: String) throws -> String {
        guard let folder else { throw Missing() }
        return folder.appendingPathComponent(name).path
    }
}

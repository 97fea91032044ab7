import Foundation

/// A folder that is deleted after the test.
func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("godwit-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}

extension URL {
    /// Writes a file with this name and returns its path.
    func file(_ name: String, _ text: String) throws -> String {
        let file = self.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        return file.path
    }
}

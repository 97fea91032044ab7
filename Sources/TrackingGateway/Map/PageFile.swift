import CPage

/// The files of the map page, and the description of the HTTP API. They are compiled into the program.
enum PageFile {
    /// The content of each file, by its name without a folder, such as `app.js`.
    static let all: [String: [UInt8]] = {
        var files: [String: [UInt8]] = [:]
        guard var file = godwit_page_files() else { return files }
        while let name = file.pointee.name, let content = file.pointee.content {
            files[String(cString: name)] = Array(String(cString: content).utf8)
            file += 1
        }
        return files
    }()

    /// Returns the content of a file that the program certainly has.
    static func content(_ name: String) -> [UInt8] {
        guard let content = self.all[name] else { preconditionFailure("the file \(name) is not part of the program") }
        return content
    }
}

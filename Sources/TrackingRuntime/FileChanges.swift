private import Dispatch
private import SystemLibrary
private import Synchronization

/// A watch of one path: reports that the file was made, removed, replaced or touched, by any process.
///
/// Writing into the file reports nothing. A process that wants to wake the watches of other processes calls
/// ``touch(_:)``. The watch ends with ``cancel()`` or with its release.
package final class FileChanges: Sendable {
    private let sources: Mutex<[any DispatchSourceProtocol]>

    /// Starts to watch a path for changes.
    ///
    /// - Parameters:
    ///   - path: The path of the file to watch. The folder that contains the file must exist; the file need not exist.
    ///   - changed: Is called on a separate thread after the file was made, removed, replaced or touched, but not after
    ///     a write into it. Several changes can be reported by one call.
    /// - Returns: `nil` if the folder does not exist, or a limit of the system is reached
    ///   (`fs.inotify.max_user_instances` or `fs.inotify.max_user_watches`).
    package init?(_ path: String, _ changed: @escaping @Sendable () -> Void) {
        let sources = Self.sources(path, changed)
        guard !sources.isEmpty else { return nil }
        for source in sources { source.activate() }
        self.sources = Mutex(sources)
    }

    deinit { self.cancel() }

    /// Ends the watch of the path. No further change is reported.
    package func cancel() {
        self.sources.withLock { sources in
            for source in sources { source.cancel() }
            sources = []
        }
    }

    /// Sets the modification time of a file to now. Every watch of the file, in any process, reports this as a change.
    package static func touch(_ path: String) { utimensat(AT_FDCWD, path, nil, 0) }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    #if os(Linux)
        private static let ofFile = UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)
        private static let ofFolder =
            UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM)
            | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)

        /// Makes the source that reports changes of a path on Linux. One inotify instance watches two things: the
        /// folder for the file's name, and the file for its attributes.
        private static func sources(
            _ path: String, _ changed: @escaping @Sendable () -> Void
        ) -> [any DispatchSourceProtocol] {
            let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard descriptor >= 0 else { return [] }
            let folder = inotify_add_watch(descriptor, self.folder(of: path), self.ofFolder)
            let file = inotify_add_watch(descriptor, path, self.ofFile)
            guard folder >= 0 || file >= 0 else {
                close(descriptor)
                return []
            }
            let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[$0...].utf8.dropFirst() } ?? path.utf8[...]
            let watched = WatchedName(folder: folder, name: Array(name))
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
            source.setEventHandler {
                var events = [UInt8](repeating: 0, count: 4096)
                var isConcerned = false
                while true {
                    let count = read(descriptor, &events, events.count)
                    guard count > 0 else { break }
                    isConcerned = watched.isConcerned(by: events[..<count]) || isConcerned
                }
                guard isConcerned else { return }
                // The path may name a new file. The call changes nothing for a file that is watched already.
                _ = inotify_add_watch(descriptor, path, Self.ofFile)
                changed()
            }
            source.setCancelHandler { close(descriptor) }
            return [source]
        }
    #else
        /// Makes the two sources that report changes of a path, on systems other than Linux. One watches the folder for
        /// added and removed files. The other watches the attributes of the file at the path, if the file exists
        /// already.
        private static func sources(
            _ path: String, _ changed: @escaping @Sendable () -> Void
        ) -> [any DispatchSourceProtocol] {
            [self.source(self.folder(of: path), .write, changed), self.source(path, .attrib, changed)].compactMap(
                \.self)
        }

        private static func source(
            _ path: String, _ mask: DispatchSource.FileSystemEvent, _ changed: @escaping @Sendable () -> Void
        ) -> (any DispatchSourceProtocol)? {
            let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            let source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: descriptor, eventMask: mask)
            source.setEventHandler { changed() }
            source.setCancelHandler { close(descriptor) }
            return source
        }
    #endif
}

#if os(Linux)
    /// A filter that finds, among the events of an inotify instance, those of one file in a watched folder.
    private struct WatchedName {
        /// The number by which inotify identifies the watch of the folder in its events.
        let folder: Int32
        /// The name of the file in the folder.
        let name: [UInt8]

        /// Returns `true` if at least one event concerns the watched file or the folder itself.
        func isConcerned(by bytes: ArraySlice<UInt8>) -> Bool {
            bytes.withUnsafeBytes { bytes in
                var start = 0
                while start + MemoryLayout<inotify_event>.size <= bytes.count {
                    let event = bytes.loadUnaligned(fromByteOffset: start, as: inotify_event.self)
                    start += MemoryLayout<inotify_event>.size
                    let end = min(bytes.count, start + Int(event.len))
                    // Only events of entries in the folder have a name, which is padded with zeros.
                    let name = bytes[start..<end].prefix { $0 != 0 }
                    if event.wd != self.folder || name.isEmpty || name.elementsEqual(self.name) { return true }
                    start = end
                }
                return false
            }
        }
    }
#endif

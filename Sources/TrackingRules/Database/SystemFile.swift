import Dispatch
import SystemLibrary

/// File functions of the operating system that Foundation and GRDB do not offer.
enum SystemFile {
    /// Creates a file that only its owner can read and write. Does nothing if the file exists or cannot be created.
    static func createPrivate(_ path: String) {
        close(open(path, O_CREAT | O_CLOEXEC, 0o600))
    }

    /// Sets the modification time of a file to now, which wakes every ``watch(_:_:)`` of the file in any process.
    static func touch(_ path: String) { utimensat(AT_FDCWD, path, nil, 0) }

    /// Calls a closure each time the attributes of a file change, as ``touch(_:)`` changes them.
    ///
    /// - Returns: The watch, which ends when it is cancelled; `nil` when the operating system has no watch left.
    static func watch(_ path: String, _ changed: @escaping @Sendable () -> Void) -> (any DispatchSourceProtocol)? {
        #if os(Linux)
            let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            guard inotify_add_watch(descriptor, path, UInt32(IN_ATTRIB)) >= 0 else {
                close(descriptor)
                return nil
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
            source.setEventHandler {
                var events = [UInt8](repeating: 0, count: 4096)
                while read(descriptor, &events, events.count) > 0 {}
                changed()
            }
        #else
            let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            let source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: descriptor, eventMask: .attrib)
            source.setEventHandler { changed() }
        #endif
        source.setCancelHandler { close(descriptor) }
        source.activate()
        return source
    }
}

private import SystemLibrary
import Synchronization

/// The temporary files of an operation in progress, such as an export. If SIGINT, SIGTERM or SIGHUP ends the program
/// first, a signal handler removes the files.
///
/// Only one draft can exist at a time in a program.
public final class Draft {
    private typealias Paths = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    /// The address of the list with the paths of the temporary files, as C strings; 0 while there are none. The list
    /// ends with `nil`. A signal handler reads it.
    private static let paths = Atomic<UInt>(0)

    /// Registers the paths of temporary files. While this draft exists, SIGINT, SIGTERM and SIGHUP remove these files
    /// before they end the program. A signal that is ignored or already has a handler stays unchanged. The files need
    /// not exist yet.
    public init(_ paths: String...) {
        // The list is never freed, because a signal may arrive at any moment and its handler reads the list.
        let list = Paths.allocate(capacity: paths.count + 1)
        for (index, path) in paths.enumerated() { (list + index).initialize(to: strdup(path)) }
        (list + paths.count).initialize(to: nil)
        Self.paths.store(UInt(bitPattern: list), ordering: .releasing)
        for number in [SIGINT, SIGTERM, SIGHUP] where Self.endsTheProgram(number) {
            signal(number) { number in
                Draft.remove()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    deinit { Self.paths.store(0, ordering: .releasing) }

    /// Removes the temporary files of the draft that exists at present. A signal handler calls this function, so it
    /// neither allocates memory nor takes a lock.
    private static func remove() {
        guard var next = Paths(bitPattern: self.paths.load(ordering: .acquiring)) else { return }
        while let path = next.pointee {
            unlink(path)
            next += 1
        }
    }

    /// Returns `true` if the signal has its default action, which ends the program; `false` if it is ignored, as under
    /// `nohup`, or has a handler.
    private static func endsTheProgram(_ number: Int32) -> Bool {
        var action = sigaction()
        return sigaction(number, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_DFL, to: Int.self)
    }
}

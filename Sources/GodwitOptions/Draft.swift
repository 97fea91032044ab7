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

    private let list: Paths
    private let capacity: Int
    private var count = 0

    /// Registers the paths of temporary files. While this draft exists, SIGINT, SIGTERM and SIGHUP remove these files
    /// before they end the program. A signal that is ignored or already has a handler stays unchanged. The files need
    /// not exist yet.
    public convenience init(_ paths: String...) {
        self.init(capacity: paths.count)
        for path in paths { self.add(path) }
    }

    /// Makes a draft without files, to which at most `capacity` files can be added.
    public init(capacity: Int) {
        // The list is never freed, because a signal may arrive at any moment and its handler reads the list.
        self.list = Paths.allocate(capacity: capacity + 1)
        self.list.initialize(repeating: nil, count: capacity + 1)
        self.capacity = capacity
        Self.paths.store(UInt(bitPattern: self.list), ordering: .releasing)
        for number in [SIGINT, SIGTERM, SIGHUP] where Self.endsTheProgram(number) {
            signal(number) { number in
                Draft.remove()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    /// Registers the path of a further temporary file, which need not exist yet. A path beyond the capacity is not
    /// registered.
    public func add(_ path: String) {
        guard self.count < self.capacity else { return }
        self.list[self.count] = strdup(path)
        self.count += 1
        // The handler sees the new path once it has loaded the address that is stored here.
        Self.paths.store(UInt(bitPattern: self.list), ordering: .releasing)
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

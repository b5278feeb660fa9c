// Large values that are read and written in parts.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Photo: ManagedObject {
  @Attribute var name: String
  @Attribute var size: Int = 0
  @Attribute(.lazy) var image: Data
  @Attribute(.lazy) var thumbnail: Data?
  @Attribute(.lazy) var caption: String?
  @Attribute(.indexed) var hash: Data?
  @ToOne var album: PhotoAlbum?
}

private final class PhotoAlbum: ManagedObject {
  @Attribute var name: String
  @ToMany(inverse: \Photo.album) var photos: Set<Photo>
}

private struct Refusal: Error {}

@Suite struct ByteStreams {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }
  /// Bytes of which no two parts are equal.
  private static let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 + $0 / 251) })

  init() async throws {
    temporary = try await TemporaryStore(
      Schema {
        Entity(Photo.self); Entity(PhotoAlbum.self)
      })
    try await store.write { context in
      for number in 0..<3 {
        _ = context.insert(Photo.self) {
          ($0.name, $0.image, $0.caption) = ("p\(number)", Self.bytes, number == 0 ? "Grüße 🖼" : nil)
        }
      }
    }
  }

  private func photo(_ context: ObjectContext) throws -> Photo {
    try #require(try context.fetch(Photo.self).sorted(by: \.id).first())
  }

  /// Reads a stream to its end, in parts of random sizes.
  private static func all(_ stream: BlobStream) throws -> Data {
    var all = Data()
    while case let part = try stream.read(Int.random(in: 1...70_000)), !part.isEmpty { all += part }
    return all
  }

  private static func write(_ data: Data, to stream: BlobStream) throws {
    var rest = data[...]
    while !rest.isEmpty {
      let part = rest.prefix(Int.random(in: 1...70_000))
      try stream.write(Data(part))
      rest = rest.dropFirst(part.count)
    }
  }

  // MARK: Reading

  @Test func `a value is read in parts, in each kind of context`() async throws {
    let context = store.makeContext()
    let photo = try photo(context)
    #expect(try context.readBytes(of: photo, \.image) { try Self.all($0) } == Self.bytes)
    #expect(
      try context.readBytes(of: photo, \.image) { stream in
        try stream.seek(to: 200_000)
        return try stream.read(10)
      } == Self.bytes[200_000..<200_010])
    // The object does not keep the bytes.
    let queries = context.statistics.queries
    #expect(photo.image.count == Self.bytes.count && context.statistics.queries == queries + 1)
    try await store.read { context in
      let photo = try #require(try context.fetch(Photo.self).first())
      #expect(try context.readBytes(of: photo, \.image) { try Self.all($0) } == Self.bytes)
    }
    try await store.write { context in
      let photo = try #require(try context.fetch(Photo.self).first())
      #expect(try context.readBytes(of: photo, named: "image") { try Self.all($0) } == Self.bytes)
    }
  }

  @Test func `texts are read as UTF-8, and nil calls nothing`() throws {
    let context = store.makeContext()
    let photos = try context.fetch(Photo.self).sorted(by: \.id).all()
    let text = try context.readBytes(of: photos[0], \.caption) {
      String(decoding: try Self.all($0), as: UTF8.self)
    }
    #expect(text == "Grüße 🖼")
    let nothing = try context.readBytes(of: photos[1], \.caption) { _ in Issue.record("called for nil") }
    #expect(nothing == nil)
    #expect(try context.readBytes(of: photos[1], \.thumbnail) { $0.count } == nil)
  }

  @Test func `a stream cannot be used after the call, and not for writing`() throws {
    let context = store.makeContext()
    let photo = try photo(context)
    let stream = try #require(try context.readBytes(of: photo, \.image) { $0 })
    #expect(throws: SQLError.self) { try stream.read(1) }
    #expect(throws: SQLError.self) { try context.readBytes(of: photo, \.image) { try $0.write(Data([1])) } }
    #expect(throws: Refusal.self) { try context.readBytes(of: photo, \.image) { _ in throw Refusal() } }
    #expect(photo.image == Self.bytes)
  }

  @Test func `what cannot be read as bytes is refused`() throws {
    let context = store.makeContext()
    let photo = try photo(context)
    func reason(_ body: () throws -> Void) -> String {
      do { try body() } catch { return "\(error)" }
      return "no error"
    }
    #expect(
      reason { try context.readBytes(of: photo, \.size) { _ in } }.contains(
        "Photo.size is not stored as bytes"))
    #expect(reason { try context.readBytes(of: photo, named: "imag") { _ in } }.contains("\"image\""))
    photo.image = Data([1])
    #expect(
      reason { try context.readBytes(of: photo, \.image) { _ in } }.contains("has a value that is not saved"))
    // Another attribute of the object can be read.
    #expect(try context.readBytes(of: photo, \.caption) { $0.count } == "Grüße 🖼".utf8.count)
    let new = context.insert(Photo.self) { $0.name = "new" }
    #expect(
      reason { try context.readBytes(of: new, \.image) { _ in } }.contains("has a value that is not saved"))
    let other = store.makeContext()
    #expect(reason { try other.readBytes(of: photo, \.image) { _ in } }.contains("another context"))
    for photo in try other.fetch(Photo.self).all() { other.delete(photo) }
    try other.save()
    context.rollback()
    #expect(throws: StoreError.objectGone(entity: "Photo", rowID: photo.rowID)) {
      try context.readBytes(of: photo, \.caption) { _ in }
    }
    #expect(reason { try context.readBytes(of: Photo(), \.image) { _ in } }.contains("context"))
  }

  // MARK: Writing

  @Test(arguments: [false, true]) func `a value is written in parts`(_ isInWrite: Bool) async throws {
    let data = Data(Self.bytes.reversed()) + Data([1, 2, 3])
    if isInWrite {
      try await store.write { context in
        let new = context.insert(Photo.self) { ($0.name, $0.image) = ("new", Data()) }
        try context.save()
        try context.writeBytes(of: new, \.image, count: data.count) { try Self.write(data, to: $0) }
        #expect(new.image == data && new.name == "new")
        new.size = data.count
      }
    } else {
      let context = store.makeContext()
      let photo = try photo(context)
      try context.writeBytes(of: photo, \.image, count: data.count) { try Self.write(data, to: $0) }
      #expect(photo.image == data && photo.name == "p0")
      photo.size = data.count
      try context.save()
    }
    let context = store.makeContext()
    let found = try context.fetch(Photo.self).where("size > 0").one()
    #expect(found.size == data.count && found.image == data)
    #expect(try context.fetch(Photo.self).where("image == %@", Self.bytes).count() == (isInWrite ? 3 : 2))
  }

  @Test func `a write that fails changes nothing`() async throws {
    let context = store.makeContext()
    let photo = try photo(context)
    #expect(throws: Refusal.self) {
      try context.writeBytes(of: photo, \.image, count: 10) { stream in
        try stream.write(Data([1]))
        throw Refusal()
      }
    }
    let few = #expect(throws: StoreError.self) {
      try context.writeBytes(of: photo, \.image, count: 10) { try $0.write(Data([1])) }
    }
    #expect(few.map { "\($0)" }?.contains("was to get 10 bytes, but 1 were written") == true, "\(few as Any)")
    #expect(throws: SQLError.self) {
      try context.writeBytes(of: photo, \.image, count: 1) { try $0.write(Data([1, 2])) }
    }
    for count in [-1, 1_000_000_001, .max] {
      let error = #expect(throws: StoreError.self) {
        try context.writeBytes(of: photo, \.image, count: count) { _ in }
      }
      #expect(error.map { "\($0)" }?.contains("a value has from 0 to 1000000000") == true)
    }
    #expect(throws: StoreError.self) { try context.writeBytes(of: photo, \.caption, count: 1) { _ in } }
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { context in
        let photo = try #require(try context.fetch(Photo.self).first())
        try context.writeBytes(of: photo, \.image, count: 0) { _ in }
      }
    }
    photo.size = 1
    #expect(throws: StoreError.unsavedChanges) {
      try context.writeBytes(of: photo, \.image, count: 0) { _ in }
    }
    context.rollback()
    #expect(photo.image == Self.bytes && photo.size == 0)
    #expect(try store.makeContext().fetch(Photo.self).where("image == %@", Self.bytes).count() == 3)
    await #expect(throws: Refusal.self) {
      try await store.write { context in
        let photo = try #require(try context.fetch(Photo.self).sorted(by: \.id).first())
        try context.writeBytes(of: photo, \.image, count: 0) { _ in }
        #expect(photo.image == Data())
        throw Refusal()
      }
    }
    #expect(try store.makeContext().fetch(Photo.self).where("image == %@", Self.bytes).count() == 3)
  }

  @Test func `a change made while bytes are written is an error that undoes the bytes`() throws {
    let context = store.makeContext()
    let photo = try photo(context)
    let other = try #require(try context.fetch(Photo.self).sorted(by: \.id, .reverse).first())
    let changes: [() -> Void] = [
      { photo.size = 7 }, { other.name = "changed" }, { context.delete(other) },
      { context.insert(Photo.self) { $0.name = "new" } },
    ]
    for change in changes {
      let error = #expect(throws: StoreError.self) {
        try context.writeBytes(of: photo, \.image, count: 2) { stream in
          change()
          try stream.write(Data([1, 2]))
        }
      }
      #expect(error.map { "\($0)" }?.contains("Photo.image is being written in parts") == true)
      #expect(context.faultErrors.isEmpty && !context.hasChanges && photo.image == Self.bytes)
    }
    #expect(photo.size == 0 && other.name == "p2")
    try context.writeBytes(of: photo, \.image, count: 2) { stream in
      #expect(throws: StoreError.self) { try context.execute("UPDATE Photo SET size = 9") }
      #expect(throws: StoreError.self) { try context.writeBytes(of: other, \.image, count: 0) { _ in } }
      try context.save()
      try stream.write(Data([1, 2]))
    }
    #expect(photo.image == Data([1, 2]))
    #expect(try store.makeContext().fetch(Photo.self).count() == 3)
    // Afterwards it accepts changes.
    photo.size = 8
    try context.save()
  }

  @Test func `a conflict stays one until the object is refreshed`() throws {
    let context = store.makeContext()
    let photo = try photo(context)
    let other = store.makeContext()
    try self.photo(other).image = Data([7])
    try other.save()
    for _ in 0..<2 {
      #expect(throws: StoreError.self) { try context.writeBytes(of: photo, \.image, count: 0) { _ in } }
    }
    context.refresh(photo)
    try context.writeBytes(of: photo, \.image, count: 0) { _ in }
    #expect(photo.image == Data())
  }

  @Test(arguments: [false, true]) func `a cancelled task ends the reading or writing of a stream`(
    _ isWriting: Bool
  )
    async throws
  {
    let (begun, go) = AsyncStream<Void>.makeStream()
    let store = store
    let task = Task {
      try await store.write { context in
        let photo = try #require(try context.fetch(Photo.self).sorted(by: \.id).first())
        func loop(_ stream: BlobStream) throws {
          go.yield()
          while true {
            try stream.seek(to: 0)
            if isWriting { try stream.write(Data([1])) } else { _ = try stream.read(1) }
          }
        }
        if isWriting {
          try context.writeBytes(of: photo, \.image, count: 1) { try loop($0) }
        } else {
          try context.readBytes(of: photo, \.image) { try loop($0) }
        }
      }
    }
    for await _ in begun { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let context = store.makeContext()
    #expect(try photo(context).image == Self.bytes)
  }

  @Test func `what was read while a write failed is read again`() throws {
    let context = store.makeContext()
    let photo = try photo(context)
    #expect(throws: Refusal.self) {
      try context.writeBytes(of: photo, \.image, count: 3) { _ in
        #expect(photo.name == "p0" && photo.image.count >= 0)
        throw Refusal()
      }
    }
    #expect(photo.image == Self.bytes)
  }

  @Test func `parts may be written in any order, and the stream stays at its value`() throws {
    let context = store.makeContext()
    let photo = try photo(context)
    try context.writeBytes(of: photo, \.image, count: 4) { stream in
      try stream.seek(to: 2)
      try stream.write(Data([3, 4]))
      try stream.seek(to: 0)
      try stream.write(Data([1]))
    }
    #expect(photo.image == Data([1, 0, 3, 4]))
    #expect(throws: StoreError.self) {
      try context.writeBytes(of: photo, \.image, count: 4) { try $0.seek(to: 4) }
    }
    #expect(throws: SQLError.self) {
      try context.writeBytes(of: photo, \.image, count: 0) { try $0.move(toRow: 2) }
    }
    #expect(throws: SQLError.self) { try context.readBytes(of: photo, \.image) { try $0.move(toRow: 2) } }
    #expect(photo.image == Data([1, 0, 3, 4]))
  }

  @Test func `an attribute in an index is refused with the reason`() throws {
    let context = store.makeContext()
    let photo = try photo(context)
    let error = #expect(throws: StoreError.self) {
      try context.writeBytes(of: photo, \.hash, count: 1) { try $0.write(Data([1])) }
    }
    #expect(error.map { "\($0)" }?.contains("because an index contains it") == true, "\(error as Any)")
    #expect(photo.hash == nil)
  }

  @Test func `relationships that were read stay, and rows that a trigger changes get new versions`()
    async throws
  {
    let context = store.makeContext()
    let photos = try context.fetch(Photo.self).sorted(by: \.id).all()
    let album = context.insert(PhotoAlbum.self) { $0.name = "a" }
    album.photos = Set(photos)
    try context.save()
    #expect(album.photos.count == 3)
    let queries = context.statistics.queries
    try context.writeBytes(of: photos[0], \.image, count: 1) { try $0.write(Data([1])) }
    #expect(album.photos.count == 3 && photos[1].album === album && context.statistics.queries == queries)
    let raw = try Connection.open(store.url.path, key: testKey)
    try raw.execute(
      sql:
        "CREATE TRIGGER follow AFTER UPDATE OF image ON Photo BEGIN UPDATE Photo SET size = 5 WHERE id = 2; END"
    )
    raw.close()
    let other = store.makeContext()
    let second = try other.fetch(Photo.self).sorted(by: \.id).all()[1]
    #expect(second.size == 0)
    try context.writeBytes(of: photos[0], \.image, count: 1) { try $0.write(Data([2])) }
    #expect(photos[1].size == 5)
    second.name = "mine"
    #expect(throws: StoreError.self) { try other.save() }
  }

  @Test func `other contexts find a conflict, and listeners are told`() async throws {
    let changes = store.changes()
    let context = store.makeContext()
    let photo = try photo(context)
    let other = store.makeContext()
    let theirs = try self.photo(other)
    #expect(theirs.name == "p0")
    try context.writeBytes(of: photo, \.image, count: 2) { try $0.write(Data([1, 2])) }
    theirs.name = "theirs"
    #expect(throws: StoreError.self) { try other.save() }
    other.rollback()
    #expect(theirs.image == Data([1, 2]))
    var iterator = changes.makeAsyncIterator()
    guard case .committed(let set)? = await iterator.next() else {
      Issue.record("no changes")
      return
    }
    #expect(set.changedBySQL == ["Photo"])
    // The object of the other context is current now; that of a third one is not.
    let third = store.makeContext()
    let stale = try self.photo(third)
    theirs.name = "renamed"
    try other.save()
    let conflict = #expect(throws: StoreError.self) {
      try third.writeBytes(of: stale, \.image, count: 0) { _ in }
    }
    guard case .conflicts(let all)? = conflict, let found = all.first else {
      Issue.record("\(conflict as Any)")
      return
    }
    #expect(found.properties == ["image"] && found.entity == "Photo")
    for photo in try other.fetch(Photo.self).all() { other.delete(photo) }
    try other.save()
    #expect(throws: StoreError.objectGone(entity: "Photo", rowID: stale.rowID)) {
      try third.writeBytes(of: stale, \.image, count: 0) { _ in }
    }
  }

  @Test func `objects without classes have streams, too`() async throws {
    let opened = try await Store.open(at: store.url, key: testKey)
    defer { opened.close() }
    let context = opened.makeContext()
    let photo = try #require(try context.fetch(entity: "Photo").sorted(byPath: "id").first())
    #expect(try context.readBytes(of: photo, named: "image") { try Self.all($0) } == Self.bytes)
    try context.writeBytes(of: photo, named: "thumbnail", count: 3) { try $0.write(Data([1, 2, 3])) }
    #expect(try photo.value("thumbnail") == .blob(Data([1, 2, 3])))
  }
}

// Fetches of many objects in batches: as a sequence that is read while it is consumed, and as a
// collection that holds a window.

internal import CipherSQLite

extension Fetch {
  /// Returns the objects as a sequence that reads them in batches while it is consumed.
  ///
  /// ```swift
  /// var count = 0
  /// for try await message in context.fetch(Message.self).stream() {
  ///   count += message.text.count
  /// }
  /// ```
  ///
  /// The objects of a batch are released before the next one is read, unless you keep them or they have
  /// unsaved changes. So a million objects take the memory of one batch. A fetch with conditions, a sort,
  /// a limit or pending changes also keeps the ids of its objects, eight bytes each.
  ///
  /// The stream has the objects that the fetch finds when the stream begins: those that are inserted
  /// later, also by the loop itself, are left out, and so are those that are deleted before their batch
  /// is read. Between two batches, other tasks of the actor may run. When the task is cancelled, the next
  /// batch throws `CancellationError`.
  /// - Parameter size: The number of objects of a batch, at least 1.
  /// - Returns: The stream, which reads nothing before its first element is requested.
  public func stream(batch size: Int = 500) -> FetchStream<Object> {
    FetchStream(fetch: self, size: max(1, size))
  }

  /// Calls a closure for each object, and reads the objects in batches as ``stream(batch:)`` does.
  ///
  /// ```swift
  /// var total = 0
  /// try context.fetch(Item.self).forEach { total += $0.bytes }
  /// ```
  /// - Parameters:
  ///   - size: The number of objects of a batch, at least 1.
  ///   - body: Called with each object, in order.
  /// - Throws: The errors of ``all()``, and those of `body`.
  public func forEach(batch size: Int = 500, _ body: (Object) throws -> Void) throws {
    var reader = BatchReader(self, size: max(1, size))
    while let objects = try reader.next() { for object in objects { try body(object) } }
  }

  /// Returns the objects as a collection that reads them when they are accessed, a window at a time.
  ///
  /// ```swift
  /// let list = try context.fetch(Item.self).sorted(by: \.title).batches(of: 100)
  /// let titles = list[5_000..<5_020].map(\.title)
  /// ```
  ///
  /// The ids are read now, eight bytes for each object, and the rows of a window when one of its objects
  /// is accessed. The collection has the objects that there are now: later changes of their values appear
  /// in them, and insertions do not appear. An object whose row was deleted since is a fault, whose
  /// values are placeholders (``ManagedObject/load()`` throws). A window that cannot be read is an error
  /// in ``ObjectContext/faultErrors``.
  /// - Parameter size: The number of objects of a window, at least 1.
  /// - Returns: The collection.
  /// - Throws: The errors of ``all()``.
  public func batches(of size: Int) throws -> FetchedObjects<Object> {
    let entity = try known()
    return FetchedObjects(
      self, ids: try rowIDs { $0 }, entity: entity, proof: try context.proof(Object.self, entity),
      size: max(1, size))
  }
}

/// The objects of a fetch, read in batches while they are consumed: see ``Fetch/stream(batch:)``.
public struct FetchStream<Object: ManagedObject>: AsyncSequence {
  let fetch: Fetch<Object>
  let size: Int

  /// Begins to read.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: BatchReader(fetch, size: size)) }

  /// Reads the objects of a stream.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var reader: BatchReader<Object>
    private var batch: [Object] = []
    private var index = 0

    fileprivate init(reader: BatchReader<Object>) { self.reader = reader }

    /// Returns the next object; nil after the last one.
    /// - Throws: `CancellationError`; the errors of ``Fetch/all()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Object? {
      if index == batch.count {
        try Task.checkCancellation()
        await Task.yield()
        // Released before the next batch is read.
        (batch, index) = ([], 0)
        guard let next = try reader.next() else { return nil }
        batch = next
      }
      defer { index += 1 }
      return batch[index]
    }
  }
}

/// Reads the objects of a fetch in batches.
struct BatchReader<Object: ManagedObject> {
  private enum Source {
    /// All objects up to an id, in the order of their ids. A batch begins after the last id of the batch
    /// before.
    case range(highest: Int64)
    /// The ids were found at the beginning.
    case ids(ArraySlice<Int64>)
  }

  private let fetch: Fetch<Object>
  private let size: Int
  private var source: Source?
  private var last: Int64 = 0

  init(_ fetch: Fetch<Object>, size: Int) { (self.fetch, self.size) = (fetch, size) }

  /// Returns the next batch, which is not empty; nil after the last one.
  mutating func next() throws -> [Object]? {
    let source = try source ?? begin()
    switch source {
    case .range(let highest):
      let objects = last < highest ? try range(to: highest) : []
      self.source = source
      last = objects.last?.rowID ?? highest
      return objects.isEmpty ? nil : objects
    case .ids(var ids):
      while !ids.isEmpty {
        let batch = ids.prefix(size)
        ids = ids.dropFirst(size)
        self.source = .ids(ids)
        let objects = try fetch.objects(withIDs: Array(batch)).map(\.object)
        if !objects.isEmpty { return try fetch.finished(objects) }
      }
      self.source = .ids([])
      return nil
    }
  }

  /// Decides how the batches are found.
  private func begin() throws -> Source {
    let parameters = fetch.parameters
    // The table can be read on from an id only in the order of the ids. A condition, a limit or pending
    // changes would be evaluated again for each batch, and find other objects than at the beginning.
    guard parameters.sort.isEmpty, parameters.conditions.isEmpty, !parameters.isWindow,
      parameters.failure == nil, !fetch.context.pending.mayBeLive || !fetch.request.includesPending
    else { return .ids(try fetch.rowIDs { $0 }[...]) }
    var last = fetch.includingPending(false).limit(1)
    last.request.parameters.sort = [SortKey(value: .objectID, isDescending: true)]
    let highest = try last.rowIDs { $0 }
    return .range(highest: highest.first ?? 0)
  }

  private func range(to highest: Int64) throws -> [Object] {
    // What the loop changes was returned before; what it deletes is left out.
    var batch = fetch.includingPending(false).sorted(byPath: "id").limit(size)
    // All batches have one shape, so the statement is compiled once.
    let id = PredicateOperand.objectID
    let bound = { (id: Int64) in PredicateOperand.value(PredicateValue(type: .int, stored: .integer(id))) }
    batch = batch.where(
      .and([.comparison(id, .greater, bound(last), []), .comparison(id, .lessOrEqual, bound(highest), [])]))
    return try batch.all()
  }
}

extension Fetch {
  /// Returns the objects with some of the ids of ``rowIDs(_:)``, in their order and each with its id,
  /// without those that were deleted since.
  func objects(withIDs ids: [Int64]) throws -> [(id: Int64, object: ManagedObject)] {
    let entity = try known()
    return try context.objects(of: entity, withIDs: ids, slots: parameters.slots(of: entity))
  }

  func finished(_ objects: [ManagedObject]) throws -> [Object] { try finished(objects, known()) }
}

extension ObjectContext {
  /// Returns the objects of some rows of an entity, with their rows in memory, in the order of the ids.
  /// - Parameter slots: The slots that are read; nil for all that are read with a row.
  func objects(of entity: EntityMapping, withIDs ids: [Int64], slots: [Int]? = nil) throws
    -> [(id: Int64, object: ManagedObject)]
  {
    let map = maps[entity.index]
    // Objects without a row are in memory only. A temporary id may have become a final one since.
    var new: [Int64: ManagedObject] = [:]
    let current = ids.map { id in id < 0 ? settledIDs.final(id) ?? id : id }
    for id in current {
      if let object = id < 0 ? map.find(id) : promised(map, id), object.state == .inserted {
        new[id] = object
      }
    }
    let rows = try scan(entity, slots: slots).rows(
      current.filter { $0 > 0 && new[$0] == nil })
    let found = Dictionary(rows.map { ($0.rowID, $0) }, uniquingKeysWith: { first, _ in first })
    return zip(ids, current).compactMap { id, current in
      guard let object = new[current] ?? found[current], object.state == .loaded || object.state == .inserted
      else { return nil }
      return (id, object)
    }
  }
}

/// The objects of a fetch as a collection that holds a window: see ``Fetch/batches(of:)``.
public struct FetchedObjects<Object: ManagedObject>: RandomAccessCollection {
  /// The objects that were read last.
  private final class Window {
    var objects: [Int: Object] = [:]
    var range = 0..<0
  }

  private let fetch: Fetch<Object>
  private let ids: [Int64]
  private let entity: EntityMapping
  private let proof: ClassProof<Object>
  private let size: Int
  private let window = Window()

  init(
    _ fetch: Fetch<Object>, ids: [Int64], entity: EntityMapping, proof: ClassProof<Object>, size: Int
  ) {
    (self.fetch, self.ids, self.entity, self.proof, self.size) = (fetch, ids, entity, proof, size)
  }

  /// The index of the first object.
  public var startIndex: Int { 0 }
  /// The number of objects.
  public var endIndex: Int { ids.count }

  /// The object at an index. Reads a window if the object is in none.
  public subscript(index: Int) -> Object {
    if !window.range.contains(index) { read(around: index) }
    if let object = window.objects[index] { return object }
    // Its row was deleted, or could not be read: a fault.
    let map = fetch.context.maps[entity.index]
    let id = fetch.context.settledIDs.final(ids[index]) ?? ids[index]
    guard let known = map.find(id) else { return proof([map.add(id)])[0] }
    // Another program may have given the id to an object of another entity of the hierarchy.
    return proof([entity.includes(known.entity) ? known : map.make()])[0]
  }

  private func read(around index: Int) {
    let start = index / size * size
    let range = start..<Swift.min(start + size, ids.count)
    (window.objects, window.range) = ([:], range)
    do {
      let found = try fetch.objects(withIDs: Array(ids[range]))
      let objects = try fetch.finished(found.map(\.object))
      let places = Dictionary(zip(ids[range], range), uniquingKeysWith: { first, _ in first })
      for ((id, _), object) in zip(found, objects) {
        if let place = places[id] { window.objects[place] = object }
      }
    } catch { fetch.context.note(error) }
  }
}

// Shortens the first predicate of a process. The Swift runtime finds a conformance by a scan of every
// loaded library, once for each generic type. A #Predicate has many generic types, so these scans take
// most of the time of the first predicate. While the first store opens, another thread compiles
// predicates of the common forms. Afterwards only types that do not occur in them are looked up.

internal import Foundation

// The task has no owner and needs none: it runs once in a process, for some milliseconds. It fills caches
// of the runtime and of PredicateTemplate, which belong to the whole process, and has no store, file or
// result to wait for. If it were cancelled with the store that started it, the next store would have no
// benefit.

enum PredicateWarmUp {
  /// Starts the warm-up once in a process, and returns at once.
  static func start() { _ = once }

  private static let once: Void = { Task.detached(priority: .utility) { try? compileSamples() } }()

  private static func compileSamples() throws {
    let (low, high, half, text): (Int, Int?, Double, String) = (1, 2, 0.5, "a")
    let (date, flag, id, list) = (Date.distantPast, true, UUID(), [1, 2])
    let comparisons = #Predicate<Sample> {
      ($0.number > low && $0.amount < half) && ($0.text.contains(text) || !($0.text.starts(with: text)))
        && ($0.other?.text == text && $0.other?.optional != high)
    }
    let values = #Predicate<Sample> {
      $0.date > date && $0.flag == flag && $0.uuid == id && list.contains($0.number)
    }
    let objects = #Predicate<Sample> { $0.other == nil && $0.others.contains { $0.number == low } }
    let plans = FetchPlans(try SchemaMapping(Schema { Entity(Sample.self) }).entities[0])
    for predicate in [comparisons, values, objects] {
      var request = FetchParameters()
      request.conditions = [try PredicateTemplate.condition(of: predicate)]
      _ = try plans.compiled(.objects, request, in: .unknown)
    }
  }

  private final class Sample: ManagedObject {
    @Attribute var number = 0
    @Attribute var amount = 0.0
    @Attribute var text = ""
    @Attribute var optional: Int?
    @Attribute var date = Date.distantPast
    @Attribute var flag = false
    @Attribute var uuid = UUID()
    @ToOne var other: Sample?
    @ToMany(inverse: \Sample.other) var others: Set<Sample>
  }
}

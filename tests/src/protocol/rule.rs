//! The protective rules of the protocol, each of which a model can leave out.

/// A rule that the barrier or a pass follows. If it is left out, the model does what "Without" says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Roots are counted at the flip. Without: none is.
    RootsAreCounted,
    /// Logged objects are armed at the flip. Without: its unlogged bit stays clear.
    FlipArmsBarriers,
    /// A flip waits for the passes of the one before. Without: it may come while candidates are tried, or decrements
    /// made.
    FlipWaitsForPasses,
    /// The log holds the words before the first overwrite. Without: those after it.
    OldWordsAreLogged,
    /// The first writer to a pending object counts it before. Without: this is left to the passes.
    PendingIsCountedFirst,
    /// The increments leave out entries that a writer has counted. Without: all entries are counted.
    CountedOnce,
    /// The log entry that a writer has counted keeps all old words. Without: unchanged words cancel there, too.
    OldWordsOfCountedStay,
    /// Increments before decrements. Without: roots and old values are released while objects are still being counted.
    IncrementsFirst,
    /// Dead young objects are swept when all increments are done. Without: the sweep runs beside them.
    SweepAfterIncrements,
    /// Young means not mature. Without: objects with count 0 are promoted.
    YoungMeansNotMature,
    /// A full count stays. Without: it is decremented.
    FullCountsStay,
    /// A dead object that a log names keeps its memory. Without: it is freed at once.
    LateQueue,
    /// A block is logged without its dead. Without: with those at count zero.
    BlockLogSparesTheDead,
    /// A block is logged without objects that a mark has condemned. Without: with them.
    BlockLogSparesCondemned,
    /// A block is logged without objects that a mark has not reached at the end of its discovery. Without: with them.
    BlockLogSparesUnreached,
    /// A candidate is buffered once. Without: at each decrement.
    CandidateOnce,
    /// A logged object is not judged by a trial. Without: it is. (Nothing is pending when trials run, and no young
    /// object can be reached from a clean one; so this covers "neither logged nor pending".)
    LoggedIsNotJudged,
    /// An object with a full count is not judged by a trial. Without: it is.
    FullIsNotJudged,
    /// A condemned object is not judged by a trial. Without: it is.
    CondemnedIsNotJudged,
    /// A candidate that a root of the flip holds is not tried. Without: it is. Saves a trial; the counts would give
    /// the same result.
    RootedIsNotTried,
    /// A trial counts beside the heap. Without: in the counts, which are not restored if it is cut off.
    TrialsCountAside,
    /// References that a trial takes from survivors are shown to the mark. Without: it is not.
    TrialsShowSurvivors,
    /// A mark begins when all counts are done. Without: at any time.
    MarkBeginsBetweenPasses,
    /// Objects promoted while marking are marked. Without: it is not.
    PromotedIsMarked,
    /// The mark reads the running log. Without: it does not.
    MarkReadsRunningLog,
    /// The increments show the last log's words to the mark. Without: they do not.
    MarkIsShownLastLog,
    /// The mark does not follow log entries of the dead. Without: it does.
    DeadEntriesAreNotFollowed,
    /// An object at count zero is not shown to the mark. Without: it is.
    UncountedIsNotShown,
    /// References that vanish with the dead are shown to the mark. Without: it is not.
    DeathsAreShown,
    /// An object that dies while marking keeps its memory. Without: it is freed at once.
    DeadStayWhileMarking,
    /// Discovery ends when all counts are done. Without: at any time.
    DiscoveryEndsBetweenPasses,
    /// The mark condemns only when no death is being released. Without: at any time.
    MarkWaitsForDeaths,
    /// The mark condemns no object that counting has released. Without: it does.
    ReleasedIsNotCondemned,
    /// A condemned object decrements no others that the mark condemns. Without: it does. Saves work: counting would
    /// release objects that are at zero then.
    CondemnedLoseNothing,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 34] = [
        Rule::RootsAreCounted,
        Rule::FlipArmsBarriers,
        Rule::FlipWaitsForPasses,
        Rule::OldWordsAreLogged,
        Rule::PendingIsCountedFirst,
        Rule::CountedOnce,
        Rule::OldWordsOfCountedStay,
        Rule::IncrementsFirst,
        Rule::SweepAfterIncrements,
        Rule::YoungMeansNotMature,
        Rule::FullCountsStay,
        Rule::LateQueue,
        Rule::BlockLogSparesTheDead,
        Rule::BlockLogSparesCondemned,
        Rule::BlockLogSparesUnreached,
        Rule::CandidateOnce,
        Rule::LoggedIsNotJudged,
        Rule::FullIsNotJudged,
        Rule::CondemnedIsNotJudged,
        Rule::RootedIsNotTried,
        Rule::TrialsCountAside,
        Rule::TrialsShowSurvivors,
        Rule::MarkBeginsBetweenPasses,
        Rule::PromotedIsMarked,
        Rule::MarkReadsRunningLog,
        Rule::MarkIsShownLastLog,
        Rule::DeadEntriesAreNotFollowed,
        Rule::UncountedIsNotShown,
        Rule::DeathsAreShown,
        Rule::DeadStayWhileMarking,
        Rule::DiscoveryEndsBetweenPasses,
        Rule::MarkWaitsForDeaths,
        Rule::ReleasedIsNotCondemned,
        Rule::CondemnedLoseNothing,
    ];
}

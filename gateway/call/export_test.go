package call

// Bounds that tests of the whole path need.
const (
	MaxBinary = maxBinary
	MaxMedia  = maxMedia

	MaxShadowQueue = maxShadowQueue
	MaxShadowCall  = maxShadowCall
)
